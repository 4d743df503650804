import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createMetrics } from "#daemon/metrics.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createFacilitator, facilitatorDefaults } from "#facilitator/facilitator.ts";
import { verdictFreshMs } from "#facilitator/verification/verified-payments.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";
import { testAccount } from "../support/payments/payment-chain.ts";

const hourMs = 3_600_000;
const minuteMs = 60_000;

const scene = useFacilitatorScene({ blockTimeSeconds: 3_600 });

/** A facilitator whose wall clock and time a test controls. */
async function startScene(name: string) {
  const time = { setByMs: 0, passedMs: 0 };
  const facilitator = await createFacilitator(
    {
      chain: { ...facilitatorDefaults.chain, id: 1_672, rpcUrl: scene.tap.url },
      signer: { privateKey: [new Secret(testAccount(0).privateKey)] },
      assets: [{ address: scene.chain.token, name: "USDC", version: "2" }],
      payees: [],
      ledger: { ...facilitatorDefaults.ledger, path: scene.ledgers.path(name) },
      settlement: facilitatorDefaults.settlement,
    },
    {
      log: pino({ level: "silent" }),
      metrics: createMetrics("facilitator"),
      clock: () => Date.now() + time.setByMs,
      monotonicMs: () => performance.now() + time.passedMs,
      signal: new AbortController().signal,
    },
  );
  // The facilitator has already checked the token, at startup.
  scene.tap.counts.clear();
  const payment = await signPayment(scene.chain.token, { authorization: { validAfter: "0" } });
  const made = (method: string) => scene.tap.counts.get(method) ?? 0;
  return {
    time,
    made,
    /** Two of a check: the simulation, and the nonce in a token that has not rejected a used one yet. */
    checkCalls: () => made("eth_call") + made("eth_estimateGas"),
    verify: async () => expect(await facilitator.verify(payment, {})).toMatchObject({ isValid: true }),
    /** Starts a settlement, and waits until its transaction is waiting for a block. */
    beginSettling: async () => {
      const pendingSettlement = facilitator.settle(payment, { idempotencyKey: name });
      await until("the transaction was sent", generousMs, async () => (await scene.pooled()).length === 1);
      return async () => {
        await scene.chain.anvil.mine();
        expect(await pendingSettlement).toMatchObject({ success: true });
      };
    },
    /** Waits until the chain has been checked several times. */
    looks: async () => {
      const madeCountBefore = made("eth_getTransactionCount");
      await until("it looked", generousMs, async () => made("eth_getTransactionCount") >= madeCountBefore + 5);
    },
    [Symbol.asyncDispose]: () => facilitator[Symbol.asyncDispose](),
  };
}

test("simulates a payment again after two seconds although the clock went back", async () => {
  await using run = await startScene("verdict-back");
  await run.verify();
  run.time.setByMs = -hourMs;
  run.time.passedMs += verdictFreshMs;
  const finish = await run.beginSettling();
  expect(run.checkCalls()).toBe(4);
  await finish();
});

test("reuses a simulation within two seconds although the clock went forward", async () => {
  await using run = await startScene("verdict-forward");
  await run.verify();
  run.time.setByMs = minuteMs;
  const finish = await run.beginSettling();
  expect(run.checkCalls()).toBe(2);
  await finish();
});

test("resends a dropped transaction after five seconds although the clock went back", async () => {
  await using run = await startScene("lost");
  const finish = await run.beginSettling();
  run.time.setByMs = -hourMs;
  const [sent] = await scene.pooled();
  await scene.chain.anvil.request("anvil_dropTransaction", [sent?.hash]);
  run.time.passedMs += 5_000;
  await until("it was sent again", generousMs, async () => (await scene.pooled())[0]?.hash === sent?.hash);
  await finish();
});

test("raises a fee with elapsed time, not with the wall clock", async () => {
  await using run = await startScene("fee");
  const finish = await run.beginSettling();
  const [sent] = await scene.pooled();
  run.time.setByMs = minuteMs;
  await run.looks();
  expect(run.made("eth_sendRawTransaction")).toBe(1);
  run.time.setByMs = -hourMs;
  run.time.passedMs += facilitatorDefaults.settlement.bumpAfterMs;
  const first = BigInt(sent?.maxFeePerGas ?? 0);
  await until(
    "the fee was raised",
    generousMs,
    async () => BigInt((await scene.pooled())[0]?.maxFeePerGas ?? 0) > first,
  );
  await finish();
});
