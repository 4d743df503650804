import { expect, test } from "vitest";
import { rejectUnpaidRefund } from "./unpaid-calls.ts";

const asset = `0x${"0a".repeat(20)}` as const;

test.each([
  ["requires minAmount for the first refund", { claimed: 499n, refunds: 0n }, 500n],
  ["requires minAmount again for each earlier refund", { claimed: 1_499n, refunds: 2n }, 1_500n],
])("%s", (_, refund, requiredAmount) => {
  const message = expect.stringContaining(`refund number ${refund.refunds + 1n} needs ${requiredAmount} `);
  expect(rejectUnpaidRefund({ asset, ...refund }, () => 500n)).toMatchObject({ message });
  expect(rejectUnpaidRefund({ asset, ...refund, claimed: requiredAmount }, () => 500n)).toBeUndefined();
});

test("admits every refund if only one unit is required", () => {
  expect(rejectUnpaidRefund({ asset, claimed: 0n, refunds: 9n }, () => 1n)).toBeUndefined();
});
