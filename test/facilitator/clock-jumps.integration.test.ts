import { pino } from "pino";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMetrics } from "#daemon/metrics.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createFacilitator, facilitatorDefaults } from "#facilitator/facilitator.ts";
import { verdictFreshMs } from "#facilitator/verification/verified-payments.ts";
import { createLedgerFolder } from "../support/facilitator/running-facilitator.ts";
import { startRpcTap, type RpcTap } from "../support/facilitator/rpc-tap.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../support/payments/payment-chain.ts";

const hourMs = 3_600_000;
const minuteMs = 60_000;

const resources = new AsyncDisposableStack();
/** Makes blocks only when a test says so. */
let chain: PaymentChain;
let tap: RpcTap;
let ledgers: Awaited<ReturnType<typeof createLedgerFolder>>;

beforeAll(async () => {
  chain = resources.use(await startPaymentChain({ blockTimeSeconds: 3_600 }));
  tap = resources.use(await startRpcTap(chain.url));
  ledgers = resources.use(await createLedgerFolder());
});
afterAll(() => resources.disposeAsync());

/** A facilitator whose wall clock and time a test controls. */
async function startScene(name: string) {
  const time = { setByMs: 0, passedMs: 0 };
  const facilitator = await createFacilitator(
    {
      chain: { ...facilitatorDefaults.chain, id: 1_672, rpcUrl: tap.url },
      signer: { privateKey: [new Secret(testAccount(0).privateKey)] },
      assets: [{ address: chain.token, name: "USDC", version: "2" }],
      payees: [],
      ledger: { ...facilitatorDefaults.ledger, path: ledgers.path(name) },
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
  // It has checked the token at its start.
  tap.counts.clear();
  const payment = await signPayment(chain.token, { authorization: { validAfter: "0" } });
  const made = (method: string) => tap.counts.get(method) ?? 0;
  return {
    time,
    made,
    simulations: () => made("eth_call") + made("eth_estimateGas"),
    verify: async () => expect(await facilitator.verify(payment, {})).toMatchObject({ isValid: true }),
    /** Starts to settle, until the transaction waits for a block. */
    beginSettling: async () => {
      const settling = facilitator.settle(payment, { idempotencyKey: name });
      await until("the transaction was sent", generousMs, async () => (await listPending()).length === 1);
      return async () => {
        await chain.anvil.mine();
        expect(await settling).toMatchObject({ success: true });
      };
    },
    /** Waits until the chain was checked several times. */
    looks: async () => {
      const before = made("eth_getTransactionCount");
      await until("it looked", generousMs, async () => made("eth_getTransactionCount") >= before + 5);
    },
    [Symbol.asyncDispose]: () => facilitator[Symbol.asyncDispose](),
  };
}

/** Lists the transactions that wait for a block. */
async function listPending(): Promise<readonly Readonly<{ hash: Hex; maxFeePerGas: Hex }>[]> {
  const { pending } = await chain.anvil.request<{
    pending: Readonly<Record<string, Readonly<Record<string, { hash: Hex; maxFeePerGas: Hex }>>>>;
  }>("txpool_content");
  return Object.values(pending).flatMap((byNonce) => Object.values(byNonce));
}

test("the chain's word about a payment is old after two seconds, also when the clock was set back", async () => {
  await using scene = await startScene("verdict-back");
  await scene.verify();
  scene.time.setByMs = -hourMs;
  scene.time.passedMs += verdictFreshMs;
  const finish = await scene.beginSettling();
  expect(scene.simulations()).toBe(2);
  await finish();
});

test("the chain's word about a payment counts for two seconds, also when the clock was set forward", async () => {
  await using scene = await startScene("verdict-forward");
  await scene.verify();
  scene.time.setByMs = minuteMs;
  const finish = await scene.beginSettling();
  expect(scene.simulations()).toBe(1);
  await finish();
});

test("a transaction that the node lost is sent again after five seconds, also when the clock was set back", async () => {
  await using scene = await startScene("lost");
  const finish = await scene.beginSettling();
  scene.time.setByMs = -hourMs;
  const [sent] = await listPending();
  await chain.anvil.request("anvil_dropTransaction", [sent?.hash]);
  scene.time.passedMs += 5_000;
  await until("it was sent again", generousMs, async () => (await listPending())[0]?.hash === sent?.hash);
  await finish();
});

test("a fee rises with the time that has passed, and not with the clock", async () => {
  await using scene = await startScene("fee");
  const finish = await scene.beginSettling();
  const [sent] = await listPending();
  scene.time.setByMs = minuteMs;
  await scene.looks();
  expect(scene.made("eth_sendRawTransaction")).toBe(1);
  scene.time.setByMs = -hourMs;
  scene.time.passedMs += facilitatorDefaults.settlement.bumpAfterMs;
  const first = BigInt(sent?.maxFeePerGas ?? 0);
  await until(
    "the fee was raised",
    generousMs,
    async () => BigInt((await listPending())[0]?.maxFeePerGas ?? 0) > first,
  );
  await finish();
});
