import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { HTTPFacilitatorClient } from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import type { Hex } from "viem";
import { expect, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ ledger: "payments" });
const payer = testAccount(1);
const payee = testAccount(2);
const signer = testAccount(0);

async function signerNonce(): Promise<number> {
  return Number(await scene.chain.anvil.request<Hex>("eth_getTransactionCount", [signer.address, "latest"]));
}

test("verifies and settles a payment once", async () => {
  const payment = await signPayment(scene.chain.token);
  const balanceBefore = await scene.chain.balanceOf(payee.address);

  expect(await scene.facilitator.verify(payment)).toEqual({
    status: 200,
    body: { isValid: true, payer: payer.address },
  });
  const owner = scene.facilitator.as("a-sale");
  const settledSettlement = await owner.settle(payment);

  expect(settledSettlement).toEqual({
    status: 200,
    body: {
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: "eip155:1672",
      payer: payer.address,
    },
  });
  expect((await scene.chain.balanceOf(payee.address)) - balanceBefore).toBe(amount);
  expect(await owner.settle(payment), "settled again: the same response").toEqual(settledSettlement);
  expect((await scene.chain.balanceOf(payee.address)) - balanceBefore).toBe(amount);
  expect((await scene.facilitator.verify(payment)).body).toMatchObject({
    isValid: false,
    invalidReason: "invalid_exact_evm_nonce_already_used",
  });
  expect((await owner.verify(payment)).body, "still valid for the sale that owns it").toMatchObject({ isValid: true });
});

test("settles 32 concurrent payments without a spare transaction", async () => {
  const payments = await Promise.all(Array.from({ length: 32 }, () => signPayment(scene.chain.token)));
  const [before, nonceBefore] = [await scene.chain.balanceOf(payee.address), await signerNonce()];

  const responses = await Promise.all(payments.map(scene.facilitator.settle));

  expect(responses.filter(({ body }) => body.success)).toHaveLength(32);
  // Waiting payments share transactions once the token is known to log each use.
  const transactions = new Set(responses.map(({ body }) => body.transaction));
  expect((await scene.chain.balanceOf(payee.address)) - before).toBe(32n * amount);
  expect((await signerNonce()) - nonceBefore).toBe(transactions.size);
});

test("sends one transaction for ten concurrent settles of one sale", async () => {
  const payment = await signPayment(scene.chain.token);
  const nonceBefore = await signerNonce();

  const responses = await Promise.all(
    Array.from({ length: 10 }, () => scene.facilitator.as("ten-times").settle(payment)),
  );

  expect(responses.every(({ body }) => body.success)).toBe(true);
  expect(new Set(responses.map(({ body }) => body.transaction)).size).toBe(1);
  expect((await signerNonce()) - nonceBefore).toBe(1);
});

test("settles one of two payments with the same authorization nonce", async () => {
  const nonce: Hex = `0x${"5a".repeat(32)}`;
  const other = { authorization: { nonce, value: "7" }, requirements: { amount: "7" } };
  const payments = [
    await signPayment(scene.chain.token, { authorization: { nonce } }),
    await signPayment(scene.chain.token, other),
  ];

  const responses = await Promise.all(payments.map(scene.facilitator.settle));

  expect(responses.map(({ body }) => body.errorReason ?? "settled").toSorted()).toEqual([
    "invalid_exact_evm_nonce_already_used",
    "settled",
  ]);
});

test("serves the reference client and its HTTP client", async () => {
  const client = new HTTPFacilitatorClient({ url: scene.facilitator.url });
  const { paymentRequirements } = await signPayment(scene.chain.token);
  const { payload } = await new ExactEvmScheme(payer.account).createPaymentPayload(2, paymentRequirements);
  const paymentPayload = { x402Version: 2, accepted: paymentRequirements, payload };

  expect(await client.getSupported()).toEqual({
    kinds: [
      { x402Version: 2, scheme: "exact", network: "eip155:1672" },
      { x402Version: 2, scheme: "upto", network: "eip155:1672", extra: { facilitatorAddress: signer.address } },
      { x402Version: 2, scheme: "batch-settlement", network: "eip155:1672" },
    ],
    extensions: ["eip2612GasSponsoring"],
    signers: { "eip155:*": [signer.address] },
  });
  expect(await client.verify(paymentPayload, paymentRequirements)).toEqual({ isValid: true, payer: payer.address });
  expect(await client.settle(paymentPayload, paymentRequirements)).toMatchObject({ success: true });
});

test("reports health, readiness and metrics, and logs no signature", async () => {
  const payment = await signPayment(scene.chain.token);
  await scene.facilitator.settle(payment);

  expect(await (await fetch(`${scene.facilitator.url}/health`)).json()).toEqual({ status: "ok" });
  expect(await (await fetch(`${scene.facilitator.operationsUrl}/readyz`)).json()).toMatchObject({
    status: "ok",
    checks: { chain: { ok: true }, signer: { ok: true } },
  });
  const metrics = await (await fetch(`${scene.facilitator.operationsUrl}/metrics`)).text();
  expect(metrics).toMatch(
    /gatehouse_facilitator_settle_duration_seconds_count\{outcome="settled",network="eip155:1672"\} \d+/,
  );
  expect(metrics).toMatch(/gatehouse_facilitator_settlements_pending\{network="eip155:1672"\} 0/);
  expect(metrics).toMatch(
    /gatehouse_facilitator_signer_balance_native\{signer="0x\w{40}",network="eip155:1672"\} [1-9]\d+/,
  );
  const { signature } = payment.paymentPayload.payload as { signature: string };
  expect(scene.facilitator.output()).not.toContain(signature.slice(2, 66));
  expect(scene.facilitator.output()).not.toContain(signer.privateKey.slice(2));
});
