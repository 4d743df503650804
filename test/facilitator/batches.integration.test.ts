import { useFacilitatorScene, type PooledTransaction } from "../support/facilitator/facilitator-scene.ts";
import {
  createWalletClient,
  decodeFunctionData,
  encodeFunctionData,
  formatEther,
  http,
  parseAbi,
  parseGwei,
  parseTransaction,
  type Hex,
} from "viem";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { takeSlice } from "../support/run-size.ts";
import { type Decide } from "../support/facilitator/rpc-tap.ts";
import type { FacilitatorClient } from "../support/facilitator/running-facilitator.ts";
import { amount, signPayment, type PaymentBody } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ blockTimeSeconds: 3_600 });
const { mineUntil, pooled } = scene;
const payee = testAccount(2).address;

const sumGas = (of: readonly PooledTransaction[]) => of.reduce((sum, { gas }) => sum + Number(gas), 0);
const isShared = ({ to }: PooledTransaction) => BigInt(to) === BigInt(multicall3Address);
const readNonce = ({ paymentPayload: { payload } }: PaymentBody) =>
  (payload["authorization"] as { nonce: Hex }).nonce.slice(2);

/** Waits until the transaction pool contains all payments. */
async function awaitPool(payments: readonly PaymentBody[]): Promise<readonly PooledTransaction[]> {
  return until("they are in the pool", generousMs, async () => {
    const transactions = await pooled();
    const has = (payment: PaymentBody) => transactions.some(({ input }) => input.includes(readNonce(payment)));
    return payments.every(has) && transactions;
  });
}

/** Starts a facilitator and settles one payment, so that it has learned which events the token emits. */
async function start(ledger: string, env: Readonly<Record<string, string>>): Promise<FacilitatorClient> {
  const started = await scene.start(ledger, env);
  expect((await mineUntil(started.settle(await signPayment(scene.chain.token)))).body).toMatchObject({ success: true });
  return started;
}

/** Settles payments; all but the first are queued before it is sent, and so share transactions. */
async function settleTogether(
  at: FacilitatorClient,
  payments: readonly PaymentBody[],
  decide: Decide = () => "forward",
) {
  const queued = Promise.withResolvers<void>();
  const unchecked = new Set(payments.map(readNonce));
  scene.tap.rule(async (calls) => {
    const text = JSON.stringify(calls);
    for (const nonce of unchecked) if (text.includes(nonce)) unchecked.delete(nonce);
    if (calls.some(({ method }) => method === "eth_sendRawTransaction")) await queued.promise;
    return decide(calls);
  });
  const pendingPayments = Promise.all(payments.map(at.settle));
  // A settlement is pending before it is queued. All are queued once no check is in progress and none follows within two requests.
  const isChecking = () => unchecked.size > 0 || scene.tap.open("eth_call") + scene.tap.open("eth_estimateGas") > 0;
  const areQueued = async () => {
    for (let request = 0; request < 2; request += 1)
      if (isChecking() || (await at.metric("settlements_pending")) !== payments.length) return false;
    return !isChecking();
  };
  await until("all are queued", generousMs, areQueued).finally(queued.resolve);
  return { pendingPayments };
}

const signMany = (count: number) => Promise.all(Array.from({ length: count }, () => signPayment(scene.chain.token)));

const readReceipt = (hash: string | undefined) =>
  scene.chain.anvil.request<{ effectiveGasPrice: Hex; status: Hex }>("eth_getTransactionReceipt", [hash]);

async function sendFirst(from: number, data: Hex): Promise<void> {
  const wallet = createWalletClient({ account: testAccount(from).account, transport: http(scene.chain.url) });
  const fees = { maxFeePerGas: parseGwei("90"), maxPriorityFeePerGas: parseGwei("80") };
  await wallet.sendTransaction({ to: scene.chain.token, data, gas: 200_000n, chain: null, ...fees });
}

/** Cancels a payment's authorization on the chain, as its payer may. */
async function cancel(from: number, payment: PaymentBody): Promise<void> {
  const { account, address } = testAccount(from);
  const message = { authorizer: address, nonce: `0x${readNonce(payment)}` } as const;
  const signature = await account.signTypedData({
    domain: { name: "USDC", version: "2", chainId: 1672, verifyingContract: scene.chain.token },
    types: {
      CancelAuthorization: [
        { name: "authorizer", type: "address" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "CancelAuthorization",
    message,
  });
  const abi = parseAbi(["function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)"]);
  await sendFirst(from, encodeFunctionData({ abi, args: [message.authorizer, message.nonce, signature] }));
}

let facilitator: FacilitatorClient;
beforeAll(async () => {
  facilitator = await start("shared", { GATEHOUSE_FACILITATOR_PAYEES: JSON.stringify([payee]) });
});
afterAll(() => facilitator?.[Symbol.asyncDispose]());
// Otherwise the payments of a failed test would be in the next one's blocks.
afterEach(() =>
  mineUntil(until("none is left", generousMs, async () => (await facilitator.metric("settlements_pending")) === 0)),
);

test("settles queued payments in one transaction, and a single payment at once", async () => {
  const [before, paidBefore] = [await scene.chain.balanceOf(payee), await readGasPaid()];
  const payments = await signMany(51);
  const { pendingPayments: settling } = await settleTogether(facilitator, payments);
  const transactions = await awaitPool(payments);
  const sharedTransactions = transactions.filter(isShared);
  const alone = transactions.filter((transaction) => !isShared(transaction));
  expect([alone.length, sharedTransactions.length]).toEqual([1, 1]);
  const sharedGas = sumGas(sharedTransactions) / (payments.length - alone.length);
  expect(sharedGas / (sumGas(alone) / alone.length)).toBeLessThanOrEqual(0.6);

  const responses = await mineUntil(settling);
  expect(responses.map(({ body }) => body.success)).toEqual(payments.map(() => true));
  expect((await scene.chain.balanceOf(payee)) - before).toBe(51n * amount);
  const costs = await Promise.all(
    transactions.map(async ({ hash, gas }) => BigInt(gas) * BigInt((await readReceipt(hash)).effectiveGasPrice)),
  );
  const cost = Number(formatEther(costs.reduce((sum, each) => sum + each, 0n)));
  expect((await readGasPaid()) - paidBefore).toBeCloseTo(cost, 14);
});

const readGasPaid = () => facilitator.metric("gas_paid_native_total", `payee="${payee.toLowerCase()}",`);

test("fails only the payment that its payer cancels, and rejects the payer for a while", async () => {
  const good = await signMany(6);
  const bad = await signPayment(scene.chain.token, { payer: testAccount(5) });
  const balanceBefore = await scene.chain.balanceOf(payee);
  const settling = Promise.all([...good, bad].map(facilitator.settle));
  await awaitPool([...good, bad]);
  await cancel(5, bad);

  const responses = await mineUntil(settling);
  expect(responses.map(({ body }) => body.success)).toEqual([...good.map(() => true), false]);
  expect(responses.at(-1)?.body).toMatchObject({ errorReason: "invalid_exact_evm_nonce_already_used" });
  const next = await signPayment(scene.chain.token, { payer: testAccount(5) });
  expect((await facilitator.verify(next)).body).toMatchObject({
    isValid: false,
    invalidReason: "invalid_exact_evm_transaction_failed",
    invalidMessage: expect.stringMatching(/^the payer 0x[0-9a-f]{40} cancelled a payment/),
  });
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(6n * amount);
});

const aggregate3 = parseAbi(["function aggregate3((address target, bool allowFailure, bytes callData)[] calls)"]);
/** Lists a batch's calls sorted, because payments are not verified in the order of arrival. */
const listCalls = (data: Hex = "0x") =>
  decodeFunctionData({ abi: aggregate3, data })
    .args[0].map(({ callData }) => callData)
    .toSorted();

test("replaces a batch that no block includes by the same calls at a higher fee", async () => {
  await using impatient = await start("replaced", { GATEHOUSE_FACILITATOR_SETTLEMENT_BUMP_AFTER_MS: "300" });
  const lost: Hex[] = [];
  const payments = await signMany(6);
  const { pendingPayments: settling } = await settleTogether(impatient, payments, (calls) => {
    const raw = calls
      .filter(({ method }) => method === "eth_sendRawTransaction")
      .map(({ params }) => params[0] as Hex)
      .find((each) => each.includes(multicall3Address.slice(2).toLowerCase()));
    if (raw === undefined || lost.length > 0) return "forward";
    lost.push(raw);
    return { status: 502, body: "bad gateway" };
  });
  const [raw] = await until("the batch was sent", generousMs, () => lost.length > 0 && lost);
  const first = parseTransaction(raw ?? "0x");
  // This block contains the payment that was sent separately; the batch comes later.
  await scene.chain.anvil.mine();
  const second = await until("another took its place", generousMs, async () =>
    (await pooled()).find(({ maxFeePerGas }) => BigInt(maxFeePerGas) > (first.maxFeePerGas ?? 0n)),
  );
  expect(listCalls(second.input)).toEqual(listCalls(first.data));
  const responses = await mineUntil(settling);
  expect(responses.map(({ body }) => body.success)).toEqual(payments.map(() => true));
});

test("splits a batch that runs out of gas, and charges each payment once", async () => {
  // Another batch's estimate would be reused for a minute.
  await using fresh = await start("short", {});
  let isDone = false;
  const payments = await signMany(6);
  const balanceBefore = await scene.chain.balanceOf(payee);
  const { pendingPayments: settling } = await settleTogether(fresh, payments, (calls) => {
    const estimate = calls.find(
      ({ method, params: [call] }) => method === "eth_estimateGas" && (call as { to: Hex }).to === multicall3Address,
    );
    if (isDone || estimate === undefined) return "forward";
    isDone = true;
    return { results: new Map([[estimate.id, "0x20000"]]) };
  });
  const responses = await mineUntil(settling);
  expect(isDone).toBe(true);
  expect(responses.map(({ body }) => body.success)).toEqual(payments.map(() => true));
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(6n * amount);
});

test.each(takeSlice([1, 2, 3], 3))("settles a batch once after a reorganization of depth %i", async (depth) => {
  const env = { GATEHOUSE_FACILITATOR_SETTLEMENT_CONFIRMATIONS: "4" };
  await using deep = await start(`reorganized-${depth}`, env);
  const balanceBefore = await scene.chain.balanceOf(payee);
  const payments = await signMany(5);
  const { pendingPayments: settling } = await settleTogether(deep, payments);
  expect((await awaitPool(payments)).some(isShared)).toBe(true);
  for (let block = 0; block < depth; block += 1) await scene.chain.anvil.mine();
  await scene.chain.anvil.request("anvil_reorg", [depth, []]);

  const more = await signMany(3);
  const responses = await mineUntil(Promise.all([settling, Promise.all(more.map(deep.settle))]));
  expect(responses.flat().map(({ body }) => body.success)).toEqual(Array.from({ length: 8 }, () => true));
  for (const { body } of responses.flat()) expect(await readReceipt(body.transaction)).toMatchObject({ status: "0x1" });
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(8n * amount);
});
