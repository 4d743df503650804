import type { PaymentRequirements } from "@x402/core/types";
import { expect, test } from "vitest";
import { offer } from "../testing/payments.ts";
import { chargeWork } from "./used-amount.ts";

const response = { status: 200, headers: [], body: new Uint8Array() };
const meteredOffer = { ...offer, scheme: "upto", amount: String(5n * 10n ** 18n), extra: {} };
const charge = (amount: string, changes: Partial<PaymentRequirements> = {}) =>
  chargeWork({ kind: "resource", response, used: JSON.stringify({ amount }) }, { ...meteredOffer, ...changes });

test("converts dollars with the decimals of the offer's token", () => {
  expect(charge("$1", { extra: { decimals: 18 } })).toMatchObject({ amount: String(10n ** 18n) });
  expect(charge("$1")).toMatchObject({ amount: "1000000" });
});

test("ignores the upstream's amount for a scheme without a maximum", () => {
  expect(charge("1", { scheme: "exact", amount: "10000" })).toMatchObject({ amount: "10000" });
});
