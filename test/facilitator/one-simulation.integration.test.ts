import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { verdictFreshMs } from "#facilitator/payment/recent-verdicts.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../support/payments/payment-chain.ts";
import { startRpcTap, type RpcTap } from "../support/facilitator/rpc-tap.ts";
import {
  createLedgerFolder,
  startFacilitator,
  type RunningFacilitator,
} from "../support/facilitator/running-facilitator.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";

const resources = new AsyncDisposableStack();
let chain: PaymentChain;
let tap: RpcTap;
let facilitator: RunningFacilitator;

beforeAll(async () => {
  chain = resources.use(await startPaymentChain());
  tap = resources.use(await startRpcTap(chain.url));
  const ledgers = resources.use(await createLedgerFolder());
  const place = { rpcUrl: tap.url, token: chain.token, ledgerPath: ledgers.path("one-simulation") };
  facilitator = resources.use(await startFacilitator(place));
});

afterAll(() => resources.disposeAsync());
beforeEach(() => tap.counts.clear());

const simulations = () => (tap.counts.get("eth_estimateGas") ?? 0) + (tap.counts.get("eth_call") ?? 0);

test("a payment that was just verified is simulated once, and settles", async () => {
  const payment = await signPayment(chain.token);
  expect((await facilitator.verify(payment)).body).toMatchObject({ isValid: true });
  expect((await facilitator.settle(payment)).body).toMatchObject({ success: true });
  expect(simulations()).toBe(1);
});

test("one that nobody verified is simulated when it is settled", async () => {
  expect((await facilitator.settle(await signPayment(chain.token))).body).toMatchObject({ success: true });
  expect(simulations()).toBe(1);
});

test("a verdict that is old is requested again", async () => {
  const payment = await signPayment(chain.token);
  expect((await facilitator.verify(payment)).body).toMatchObject({ isValid: true });
  const verifiedAtMs = Date.now();
  await until("the verdict is old", generousMs, async () => Date.now() - verifiedAtMs > verdictFreshMs);
  expect((await facilitator.settle(payment)).body).toMatchObject({ success: true });
  expect(simulations()).toBe(2);
});

test("of two payments that were verified while the payer held enough for one, the second is refused before it costs gas", async () => {
  const payer = testAccount(5);
  const held = await chain.balanceOf(payer.address);
  const all = { value: String(held) };
  const payments = await Promise.all(
    [1, 2].map(() => signPayment(chain.token, { payer, authorization: all, requirements: { amount: String(held) } })),
  );
  for (const payment of payments) expect((await facilitator.verify(payment)).body).toMatchObject({ isValid: true });

  expect((await facilitator.settle(payments[0])).body).toMatchObject({ success: true });

  expect((await facilitator.settle(payments[1])).body).toMatchObject({
    success: false,
    errorReason: "invalid_exact_evm_insufficient_balance",
    transaction: "",
  });
});
