import { expect, test } from "vitest";
import { encodeInteger, type Hex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Chain } from "../chain/chain.ts";
import { ChainError } from "../chain/chain-error.ts";
import { encodeBalanceOfCall } from "../chain/token.ts";
import { sampleSettlement } from "../testing/sample-settlement.ts";
import { createNonceChecks } from "./reused-nonces.ts";

const { authorizationNonce: nonce, validBefore, amount, payer, ...parts } = sampleSettlement;
const payment: SignedPayment = { ...parts, amount, payer, authorization: { validAfter: 0n, validBefore, nonce } };
const reverted = { ok: false, error: { code: 3, message: "execution reverted" } } as const;
const balanceCall = encodeBalanceOfCall(payer);

/** A node on which the payment's nonce is used; the rest varies. */
function createNode({
  response = reverted,
  balance = amount,
  isUsed = true,
  code = "0x",
}: Readonly<{
  response?: Awaited<ReturnType<Chain["simulate"]>>;
  balance?: bigint;
  isUsed?: boolean;
  code?: Hex;
}> = {}) {
  const asked: string[] = [];
  const chain = {
    simulate: async () => (asked.push("simulate"), response),
    read: async ({ data }: { data: Hex }): Promise<Hex> => {
      const isBalance = data === balanceCall;
      if (!isBalance) asked.push("nonce");
      return `0x${encodeInteger(isBalance ? balance : isUsed ? 1n : 0n)}`;
    },
    code: async () => code,
  };
  return { asked, chain: chain as unknown as Chain };
}

const createChecks = (nowMs = 0) => createNonceChecks({ gas: { most: () => 200_000n }, clock: () => nowMs });

test("reads the nonce of each payment until its token rejected a settled one", async () => {
  const [checks, node] = [createChecks(), createNode()];
  expect(await checks.isReused(payment, node.chain)).toBe(true);
  await checks.observeSettled(payment, node.chain);
  node.asked.length = 0;
  expect(await checks.isReused({ ...payment, asset: parts.asset.toUpperCase() as Hex }, node.chain)).toBe(false);
  await checks.observeSettled(payment, node.chain);
  expect(node.asked).toEqual([]);
});

test.each([
  ["accepts it again", { response: { ok: true, result: "0x" } }],
  ["may have rejected the balance", { balance: amount - 1n }],
  ["is on a node behind the settlement", { isUsed: false }],
  ["may have rejected the signature of a payer with code", { code: "0xef0100" }],
] as const)("keeps reading nonces of a token that %s", async (_, state) => {
  const checks = createChecks();
  await checks.observeSettled(payment, createNode(state).chain);
  expect(await checks.isReused(payment, createNode().chain)).toBe(true);
});

test("learns nothing from a payment that may have expired by the chain's clock", async () => {
  const checks = createChecks(Number(validBefore) * 1_000 - 45_000);
  await checks.observeSettled(payment, createNode().chain);
  expect(await checks.isReused(payment, createNode().chain)).toBe(true);
});

test("learns nothing from a node's own error, and observes again after it", async () => {
  const [checks, node] = [createChecks(), createNode()];
  const failing = createNode({ response: { ok: false, error: { code: -32_000, message: "header not found" } } });
  await expect(checks.observeSettled(payment, failing.chain)).rejects.toThrow(ChainError);
  expect(await checks.isReused(payment, node.chain)).toBe(true);
  await checks.observeSettled(payment, node.chain);
  expect(await checks.isReused(payment, node.chain)).toBe(false);
});

test("simulates one payment of a token at a time", async () => {
  const [checks, node] = [createChecks(), createNode()];
  await Promise.all([1, 2, 3].map(() => checks.observeSettled(payment, node.chain)));
  expect(node.asked.filter((step) => step === "simulate")).toHaveLength(1);
});
