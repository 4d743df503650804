import { expect, test } from "vitest";
import { ChainError } from "../chain/chain-error.ts";
import { createPaymentChecks, type PaymentCheckDependencies, rejectTime } from "./payment-checks.ts";

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

test("throws a ChainError for a node's own error during a wallet check", async () => {
  await expect(checkWallet(-32_000, "header not found")).rejects.toThrow(ChainError);
});

const nowSeconds = 1_800_000_000n;
const authorization = {
  from: "0x0000000000000000000000000000000000000001",
  to: "0x0000000000000000000000000000000000000002",
  value: 1n,
  validAfter: nowSeconds - 1n,
  validBefore: nowSeconds + 6n,
  nonce: `0x${"00".repeat(32)}`,
} as const;

test.each([
  ["just valid with the shortest remaining validity", {}, undefined],
  ["expiring too soon", { validBefore: nowSeconds + 5n }, "invalid_exact_evm_payload_authorization_valid_before"],
  [
    "valid only from the next second",
    { validAfter: nowSeconds },
    "invalid_exact_evm_payload_authorization_valid_after",
  ],
  ["without an expiry", { validBefore: 2n ** 256n - 1n }, undefined],
])("checks the time of an authorization %s", (_, changes, reason) => {
  expect(rejectTime({ ...authorization, ...changes }, Number(nowSeconds) * 1_000)?.reason).toBe(reason);
});
