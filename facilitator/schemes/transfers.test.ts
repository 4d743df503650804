import { expect, test } from "vitest";
import { refuseAmount } from "./transfers.ts";
import { createMinAmounts } from "../network.ts";

const address = `0x${"0a".repeat(20)}` as const;
const token = { address, name: "USDC", version: "2" };
const minimum = (limits: object, cost = 10n ** 14n) =>
  createMinAmounts(
    { assets: [{ ...token, ...limits }], nativeDecimals: 18 },
    { settlementCost: () => cost },
  )(`0x${"0A".repeat(20)}`);

test.each([
  ["the setting, whatever a settlement costs", { minAmount: 500, nativePrice: 420_000 }, 500n],
  ["what a settlement costs by the native currency's price, rounded up", { nativePrice: 420_000 }, 43n],
  ["one unit where nothing is known", {}, 1n],
])("the minimum is %s", (_, limits, least) => {
  expect(minimum(limits)).toBe(least);
  expect(refuseAmount(least, least)).toBeUndefined();
  expect(refuseAmount(least - 1n, least)?.reason).toBe("invalid_payment_requirements");
});

test("a value of 0 is refused before a cost is known", () => {
  expect(refuseAmount(0n, minimum({ nativePrice: 1 }, 0n))).toBeDefined();
});
