import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { randomBytes } from "node:crypto";
import { toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ blockTimeSeconds: 3_600 });
const { poolHas, start } = scene;

test("returns the outcome to one later call after a call without an identifier got settlement_pending", async () => {
  await using slow = await start("pending", { GATEHOUSE_FACILITATOR_SETTLEMENT_RECEIPT_TIMEOUT_MS: "1500" });
  const payment = await signPayment(scene.chain.token);
  const reported = await slow.settle(payment);
  expect(reported.body).toMatchObject({ success: false, errorReason: "settlement_pending" });
  expect((await slow.verify(payment)).body, "the client may retry with it").toMatchObject({ isValid: true });
  await scene.chain.anvil.mine();

  const responses = await Promise.all([1, 2, 3, 4].map(() => slow.settle(payment)));

  const { transaction } = reported.body;
  const wins = responses.filter(({ body }) => body.success);
  expect(wins).toMatchObject([{ body: { transaction } }]);
  for (const { body } of responses.filter((response) => !wins.includes(response))) {
    expect(body).toMatchObject({ success: false, errorReason: "duplicate_settlement", transaction });
  }
  expect((await slow.verify(payment)).body).toMatchObject({ isValid: false });
});

test("rejects payments below minAmount without gas, and settles one of minAmount", async () => {
  const asset = { address: scene.chain.token, name: "USDC", version: "2", minAmount: 500 };
  await using limited = await start("limited", { GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([asset]) });
  // The payment port does not serve the admin routes.
  for (const path of ["/livez", "/readyz", "/metrics"]) {
    expect([path, (await fetch(`${limited.url}${path}`)).status]).toEqual([path, 404]);
  }
  const sign = (value: string) =>
    signPayment(scene.chain.token, { authorization: { value }, requirements: { amount: value } });
  for (const value of ["0", "1", "499"]) {
    const payment = await sign(value);
    expect((await limited.verify(payment)).body).toMatchObject({
      isValid: false,
      invalidReason: "invalid_payment_requirements",
      invalidMessage: expect.stringContaining("the minimum here is 500"),
    });
    expect((await limited.settle(payment)).body).toMatchObject({ success: false, transaction: "" });
  }
  await poolHas(0);
  const settling = limited.settle(await sign("500"));
  await poolHas(1);
  await scene.chain.anvil.mine();
  expect((await settling).body).toMatchObject({ success: true });
});

test("returns 500 while the chain charges more than the max fee", async () => {
  await using facilitator = await start("dear", { GATEHOUSE_FACILITATOR_SETTLEMENT_MAX_FEE_PER_GAS_GWEI: "0.000001" });
  expect(await facilitator.settle(await signPayment(scene.chain.token))).toEqual({
    status: 500,
    body: {
      error: expect.stringMatching(/charges .* gwei for gas, but settlement\.maxFeePerGasGwei allows 0\.000001/),
    },
  });
  expect(await (await fetch(`${facilitator.operationsUrl}/readyz`)).json()).toMatchObject({
    status: "unready",
    checks: { chain: { ok: false, message: expect.stringContaining("gwei") } },
  });
});

test("serves probes and metrics while every connection waits for a settlement", async () => {
  await using facilitator = await start(
    "busy",
    { GATEHOUSE_FACILITATOR_LISTEN_TRUSTED_PROXIES: "127.0.0.1" },
    { constants: { "listen.connections": 4 } },
  );
  const settling = [];
  for (let count = 0; count < 4; count += 1) settling.push(facilitator.settle(await signPayment(scene.chain.token)));
  await poolHas(4);
  // A trusted proxy may open all connections up to the limit; other clients get an error.
  expect((await fetch(`${facilitator.url}/health`)).status).toBe(503);
  for (const path of ["/livez", "/readyz", "/metrics"]) {
    expect([path, (await fetch(`${facilitator.operationsUrl}${path}`)).status]).toEqual([path, 200]);
  }
  expect((await fetch(`${facilitator.operationsUrl}/settle`, { method: "POST" })).status).toBe(404);
  await scene.chain.anvil.mine();
  for (const settled of settling) expect((await settled).body).toMatchObject({ success: true });
});

test("omits all kinds from /supported while the signer has no gas", async () => {
  const privateKey = toHex(randomBytes(32));
  const { address } = privateKeyToAccount(privateKey);
  await using facilitator = await start("poor", { GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: privateKey });
  const supported = async () => (await (await fetch(`${facilitator.url}/supported`)).json()) as Record<string, unknown>;
  expect(await supported()).toMatchObject({
    kinds: [],
    error: expect.stringContaining(`the balance of ${address} for gas is 0`),
  });
  expect(facilitator.output()).toContain("signer-unusable");
  expect(facilitator.output()).not.toContain("settling-payments");
  const payment = await signPayment(scene.chain.token);
  expect(await facilitator.verify(payment)).toMatchObject({
    status: 500,
    body: {
      error: expect.stringMatching(
        /settlement is not available: .* may cost .*; send it .* for 100 settlements .*faucet/,
      ),
    },
  });
  await scene.chain.anvil.request("anvil_setBalance", [address, toHex(10n ** 18n)]);
  await until("it is funded", generousMs, async () => ((await supported())["kinds"] as unknown[]).length > 0);
  expect((await facilitator.verify(payment)).body).toMatchObject({ isValid: true });
});
