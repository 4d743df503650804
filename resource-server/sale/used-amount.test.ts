import type { PaymentRequirements } from "@x402/core/types";
import { expect, test } from "vitest";
import { chargeWork } from "./used-amount.ts";

const response = { status: 200, headers: [], body: new Uint8Array() };
const offer = (changes: Partial<PaymentRequirements>): PaymentRequirements => ({
  scheme: "upto",
  network: "eip155:1672",
  amount: String(5n * 10n ** 18n),
  asset: `0x${"aa".repeat(20)}`,
  payTo: `0x${"bb".repeat(20)}`,
  maxTimeoutSeconds: 60,
  extra: {},
  ...changes,
});
const charge = (amount: string, changes: Partial<PaymentRequirements> = {}) =>
  chargeWork({ kind: "resource", response, used: JSON.stringify({ amount }) }, offer(changes));

test("dollars are those of the offer's token, with its decimals", () => {
  expect(charge("$1", { extra: { decimals: 18 } })).toMatchObject({ amount: String(10n ** 18n) });
  expect(charge("$1")).toMatchObject({ amount: "1000000" });
});

test("a scheme without a maximum is charged in full, whatever the upstream says", () => {
  expect(charge("1", { scheme: "exact", amount: "10000" })).toMatchObject({ amount: "10000" });
});
