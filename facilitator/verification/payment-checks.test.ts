import { expect, test } from "vitest";
import { ChainError } from "../chain/chain-error.ts";
import { createPaymentChecks, type PaymentCheckDependencies } from "./payment-checks.ts";

const payment = { id: "0x11", contract: "0x22", payer: "0x33", walletSignature: "0x44" } as const;

/** Checks a wallet's signature with a node that responds to the call with this error. */
function checkWallet(code: number, message: string) {
  const chain = { simulate: async () => ({ ok: false, error: { code, message } }) };
  const dependencies = { chainAt: () => chain, clock: () => 0, monotonicMs: () => 0 };
  const checks = createPaymentChecks({ entriesMax: 10 }, dependencies as unknown as PaymentCheckDependencies);
  return checks.checkWallet(payment, { kind: "call", owner: "a caller" });
}

test("rejects a signature when the payer's wallet reverts", async () => {
  expect(await checkWallet(3, "execution reverted")).toMatchObject({ reason: "invalid_exact_evm_signature" });
});

test("throws a ChainError if the node itself fails during a wallet check", async () => {
  await expect(checkWallet(-32_000, "header not found")).rejects.toThrow(ChainError);
});
