import type { Hex } from "viem";
import { expect, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { facilitator } from "#facilitator/main.ts";
import { explainStartFailure } from "../support/service-in-process.ts";
import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { buildFacilitatorEnvironment } from "../support/facilitator/running-facilitator.ts";
import { signPayment, type PaymentBody, type PaymentChanges } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ blockTimeSeconds: 3_600, ledger: "bad-input" });
const stranger = testAccount(8).address;

/** JSON-RPC calls made for payments; the facilitator also requests its balance from time to time. */
function callsForPayments(): number {
  const methods = ["eth_call", "eth_estimateGas", "eth_sendRawTransaction"];
  return methods.reduce((sum, method) => sum + (scene.tap.counts.get(method) ?? 0), 0);
}

// Sent over HTTP; test/x402/recorded-payments.jsonl has all kinds.
test.each<[string, PaymentChanges, string]>([
  ["a signature that is not hexadecimal", { signature: () => "sure, I signed it" }, "invalid_exact_evm_signature"],
  ["an unknown network", { requirements: { network: "eip155:1" } }, "invalid_network"],
])("verify and settle reject %s without a call to the chain", async (_, changes, reason) => {
  const payment = await signPayment(scene.chain.token, changes);

  const verifiedVerdict = await scene.facilitator.verify(payment);
  const settledSettlement = await scene.facilitator.settle(payment);

  expect(verifiedVerdict).toMatchObject({ status: 200, body: { isValid: false, invalidReason: reason } });
  expect(settledSettlement).toMatchObject({
    status: 200,
    body: { success: false, errorReason: reason, transaction: "", network: "eip155:1672" },
  });
  expect(verifiedVerdict.body.invalidMessage, "a sentence for people").toMatch(/\w+ .*\.$/);
  expect(callsForPayments()).toBe(0);
});

test("rejects a payment above the payer's balance, and states balance and amount", async () => {
  const payment = await signPayment(scene.chain.token, { payer: testAccount(12) });
  expect((await scene.facilitator.verify(payment)).body).toEqual({
    isValid: false,
    invalidReason: "invalid_exact_evm_insufficient_balance",
    invalidMessage: `the balance of ${testAccount(12).address} is 0 of ${scene.chain.token}, but the payment is 10000.`,
    payer: testAccount(12).address,
  });
  expect((await scene.facilitator.settle(payment)).body).toMatchObject({
    success: false,
    errorReason: "invalid_exact_evm_insufficient_balance",
    transaction: "",
  });
});

test("rejects x402 version 1 in body and payment, and accepts a body without a version", async () => {
  const payment = await signPayment(scene.chain.token);
  const { x402Version: _, ...withoutVersion } = payment;
  const inner = { ...payment, paymentPayload: { ...payment.paymentPayload, x402Version: 1 } };

  for (const body of [{ ...payment, x402Version: 1 }, inner]) {
    expect((await scene.facilitator.verify(body)).body).toMatchObject({
      isValid: false,
      invalidReason: "invalid_x402_version",
    });
    expect((await scene.facilitator.settle(body)).body).toMatchObject({
      success: false,
      errorReason: "invalid_x402_version",
    });
  }
  expect((await scene.facilitator.verify(withoutVersion)).body).toMatchObject({ isValid: true });
});

test("makes one call per payer for any number of forged signatures", async () => {
  const signatures = [
    () => "0x00112233445566778899",
    (signature: Hex) => signature.replace(/.{4}$/, signature.endsWith("1b") ? "001c" : "001b"),
    () => `0x${"00".repeat(64)}1b`,
  ];
  for (const signature of signatures) {
    const payment = await signPayment(scene.chain.token, { payer: testAccount(9), signature });
    const rejection = {
      invalidReason: "invalid_exact_evm_signature",
      invalidMessage: expect.stringMatching(/\w+ .*\.$/),
    };
    expect((await scene.facilitator.verify(payment)).body).toMatchObject({ isValid: false, ...rejection });
    expect((await scene.facilitator.settle(payment)).body).toMatchObject({
      errorReason: "invalid_exact_evm_signature",
    });
  }
  expect(callsForPayments()).toBe(1);
});

test("rejects an ERC-7710 payment with unsupported_payload_type", async () => {
  const payment = await signPayment(scene.chain.token);
  const paymentPayload = { ...payment.paymentPayload, payload: { delegationManager: "0x", permissionContext: "0x" } };
  expect((await scene.facilitator.verify({ ...payment, paymentPayload })).body).toMatchObject({
    isValid: false,
    invalidReason: "unsupported_payload_type",
    invalidMessage: expect.stringContaining("EIP-3009"),
  });
});

function setValue(payment: PaymentBody) {
  const { payload } = payment.paymentPayload as unknown as { payload: { authorization: object } };
  const changedPayload = { ...payload, authorization: { ...payload.authorization, value: 10_000 } };
  return { ...payment, paymentPayload: { ...payment.paymentPayload, payload: changedPayload } };
}

test.each<[string, (payment: PaymentBody) => unknown, RegExp]>([
  ["a list", () => [], /^body: expected an object with paymentPayload and paymentRequirements$/],
  ["null", () => null, /^body: expected an object/],
  ["a value that is a JSON number", setValue, /^paymentPayload\.payload\.authorization\.value: /],
])("returns 400 with the invalid path for %s", async (_, change, message) => {
  const body = JSON.stringify(change(await signPayment(scene.chain.token)));
  for (const path of ["/verify", "/settle"]) {
    expect(await scene.facilitator.post(path, body)).toEqual({
      status: 400,
      body: { error: expect.stringMatching(message) },
    });
  }
  expect(callsForPayments()).toBe(0);
});

test("returns 400 for invalid JSON, 415 for another content type or an encoding, 413 for a body over the limit", async () => {
  const post = scene.facilitator.post;
  expect(await post("/verify", '{"paymentPayload": ')).toEqual({
    status: 400,
    body: { error: "body: is not JSON; expected an object with paymentPayload and paymentRequirements" },
  });
  expect(await post("/settle", "{}", { "Content-Type": "text/plain" })).toEqual({
    status: 415,
    body: { error: 'Content-Type "text/plain"; send JSON with Content-Type: application/json' },
  });
  expect(await post("/verify", "{}", { "Content-Encoding": "gzip" })).toEqual({
    status: 415,
    body: { error: "unsupported Content-Encoding gzip; send the body uncompressed" },
  });
  expect(await post("/verify", JSON.stringify({ filler: "x".repeat(70_000) }))).toEqual({
    status: 413,
    body: { error: "the body exceeds 65536 bytes; send less" },
  });
  expect(await post("/settle", "{}", { "Idempotency-Key": "x".repeat(256) })).toEqual({
    status: 400,
    body: { error: "header Idempotency-Key: expected 1 to 255 characters, e.g. a UUID" },
  });
  expect(await post("/steal", "{}")).toMatchObject({ status: 404 });
});

test.each<[string, Record<string, string>, RegExp]>([
  [
    "no key",
    { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: "" },
    /GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: missing; expected private keys/,
  ],
  [
    "a key of zeros",
    { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: `0x${"0".repeat(64)}` },
    /signer\.privateKey is not a secp256k1 private key/,
  ],
  [
    "another chain",
    { GATEHOUSE_FACILITATOR_CHAIN_ID: "1" },
    /is on chain 1672, chain\.id is 1; correct chain\.rpcUrl or chain\.id/,
  ],
  [
    "an asset without a token contract",
    { GATEHOUSE_FACILITATOR_ASSETS: `[{address: "${stranger}", name: "USDC", version: "2"}]` },
    /there is no token at 0x.* correct assets/,
  ],
])("fails at startup with the cause: %s", async (_, env, message) => {
  const cause = await explainStartFailure(facilitator, {
    ...buildFacilitatorEnvironment(scene.place("rejected-settings")),
    ...env,
  });
  expect(cause).toMatch(message);
  expect(cause).not.toContain(testAccount(0).privateKey.slice(2));
});
