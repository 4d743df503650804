import { expect, test } from "vitest";
import { computeIntrinsicGas } from "./raw-transaction.ts";

const to = `0x${"aa".repeat(20)}`;

test("a transfer, bytes, a creation and an access list have their price", () => {
  expect(computeIntrinsicGas({ to })).toBe(21_000);
  expect(computeIntrinsicGas({ to, data: "0x0001ff" })).toBe(21_036);
  expect(computeIntrinsicGas({ to: null, data: `0x${"00".repeat(33)}` })).toBe(53_136);
  expect(computeIntrinsicGas({ to, accessList: [{ storageKeys: ["0x0", "0x1"] }] })).toBe(27_200);
});
