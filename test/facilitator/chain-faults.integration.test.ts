import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { createWalletClient, encodeFunctionData, erc20Abi, http, parseGwei, type Hex } from "viem";
import { expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { accelerateWaits } from "../support/accelerated-waits.ts";
import { startPublishedSeller } from "../support/facilitator/published-seller.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { type TapRule } from "../support/facilitator/rpc-tap.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({
  blockTimeSeconds: 3_600,
  ledger: "faults",
  env: () => ({
    GATEHOUSE_FACILITATOR_SETTLEMENT_BUMP_AFTER_MS: "600",
    GATEHOUSE_FACILITATOR_SETTLEMENT_RECEIPT_TIMEOUT_MS: "20000",
  }),
  constants: { "chain.rpcTimeoutMs": 1_000 },
});
const { mineUntil, pooled } = scene;
const payee = testAccount(2).address;
const signer = testAccount(0);

const isSend = (method: string) => method === "eth_sendRawTransaction";

/** Sends a transaction of an account, unknown to the facilitator, with a fee that puts it first. */
async function sendForeign(from: number, to: Hex, data?: Hex): Promise<Hex> {
  const wallet = createWalletClient({ account: testAccount(from).account, transport: http(scene.chain.url) });
  const request = { to, ...(data === undefined ? {} : { data }), gas: 200_000n, chain: null };
  return wallet.sendTransaction({ ...request, maxFeePerGas: parseGwei("90"), maxPriorityFeePerGas: parseGwei("80") });
}

test.each<[string, TapRule, RegExp]>([
  ["returns HTML", { status: 200, body: "<html>maintenance</html>" }, /something other than JSON/],
  ["returns HTTP 502", { status: 502, body: "bad gateway" }, /HTTP 502/],
  [
    "returns a JSON-RPC error",
    { status: 200, body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"limit"}}' },
    /limit/,
  ],
  ["hangs", "hang", /did not respond within 1000 ms/],
  ["closes the connection", "lose_answer", /closed the connection before its response was complete/],
])("returns 500 with the fault while the node %s, and settles the payment afterwards", async (_, rule, fault) => {
  const payment = await signPayment(scene.chain.token);
  scene.tap.rule(() => rule);

  for (const response of [await scene.facilitator.verify(payment), await scene.facilitator.settle(payment)]) {
    expect(response).toEqual({ status: 500, body: { error: expect.stringMatching(fault) } });
  }

  scene.tap.rule(() => "forward");
  expect((await scene.facilitator.verify(payment)).body).toMatchObject({ isValid: true });
  expect((await mineUntil(scene.facilitator.settle(payment))).body).toMatchObject({ success: true });
});

test("omits all kinds from /supported while the node is down, and the SDK's seller that starts meanwhile sells afterwards", async () => {
  using _sooner = accelerateWaits({ waitsMs: [10_000], times: 40 });
  await using facilitator = await scene.start("supported", {}, { constants: { "chain.rpcTimeoutMs": 1_000 } });
  const supported = async () => (await (await fetch(`${facilitator.url}/supported`)).json()) as Listed;
  await until("it lists kinds", generousMs, async () => (await supported()).kinds.length > 0);
  scene.tap.rule(() => ({ status: 502, body: "bad gateway" }));
  await until("the kinds are gone", generousMs, async () => (await supported()).kinds.length === 0);
  expect((await supported()).error).toMatch(/HTTP 502/);
  const options = { framework: "express", facilitatorUrl: facilitator.url, token: scene.chain.token } as const;
  await using shop = await startPublishedSeller(options);
  expect((await fetch(shop.urlOf("/quick"))).status).toBe(500);
  scene.tap.rule(() => "forward");
  await until("it requests payment", generousMs, async () => (await fetch(shop.urlOf("/quick"))).status === 402);
});

type Listed = Readonly<{ kinds: readonly unknown[]; error?: string }>;

test("settles once when the response to eth_sendRawTransaction is lost", async () => {
  const payment = await signPayment(scene.chain.token);
  const balanceBefore = await scene.chain.balanceOf(payee);
  scene.tap.rule((calls) => (calls.some(({ method }) => isSend(method)) ? "lose_answer" : "forward"));

  const response = await mineUntil(scene.facilitator.settle(payment));

  expect(response.body).toMatchObject({ success: true });
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(amount);
});

test("settles the next payment after a chain rollback", async () => {
  const snapshot = await scene.chain.anvil.request<Hex>("evm_snapshot");
  expect((await mineUntil(scene.facilitator.settle(await signPayment(scene.chain.token)))).body.success).toBe(true);
  expect(await scene.chain.anvil.request<boolean>("evm_revert", [snapshot])).toBe(true);

  expect((await mineUntil(scene.facilitator.settle(await signPayment(scene.chain.token)))).body).toMatchObject({
    success: true,
  });
});

test("resends the settlements in flight after a chain rollback", async () => {
  const snapshot = await scene.chain.anvil.request<Hex>("evm_snapshot");
  expect((await mineUntil(scene.facilitator.settle(await signPayment(scene.chain.token)))).body.success).toBe(true);
  const payments = await Promise.all([1, 2, 3].map(() => signPayment(scene.chain.token)));
  const pendingPayments = payments.map(scene.facilitator.settle);
  await until("they are in the pool", generousMs, async () => {
    const sent = (await pooled()).map(({ input }) => input).join("");
    return payments.every(({ paymentPayload: { payload } }) =>
      sent.includes((payload["authorization"] as { nonce: Hex }).nonce.slice(2)),
    );
  });
  await scene.chain.anvil.request("anvil_dropAllTransactions");
  await scene.chain.anvil.request("evm_revert", [snapshot]);
  const balanceBefore = await scene.chain.balanceOf(payee);

  const responses = await mineUntil(Promise.all(pendingPayments));

  expect(responses.map(({ body }) => body.success)).toEqual([true, true, true]);
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(3n * amount);
});

test("settles despite a foreign transaction of the signer's key", async () => {
  const payments = await Promise.all([1, 2].map(() => signPayment(scene.chain.token)));
  const balanceBefore = await scene.chain.balanceOf(payee);
  const first = scene.facilitator.settle(payments[0]);
  await until("the first is in the pool", generousMs, async () => (await pooled()).length === 1);
  await sendForeign(0, payee);
  await until("the foreign one follows", generousMs, async () => (await pooled()).length === 2);

  const responses = await mineUntil(Promise.all([first, scene.facilitator.settle(payments[1])]));

  expect(responses.map(({ body }) => body.success)).toEqual([true, true]);
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(2n * amount);
});

test("repeats the failure of a payment whose payer emptied the account before the block", async () => {
  const poor = testAccount(5);
  const everything = await scene.chain.balanceOf(poor.address);
  const payment = await signPayment(scene.chain.token, { payer: poor });
  const pendingSettlement = scene.facilitator.settle(payment);
  await until("it is in the pool", generousMs, async () => (await pooled()).length === 1);
  const away = encodeFunctionData({
    abi: erc20Abi,
    functionName: "transfer",
    args: [testAccount(6).address, everything],
  });
  await sendForeign(5, scene.chain.token, away);

  const response = await mineUntil(pendingSettlement);

  expect(response.body).toMatchObject({
    success: false,
    errorReason: "invalid_exact_evm_transaction_failed",
    transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  });
  expect(await scene.facilitator.settle(payment)).toEqual(response);
  expect((await scene.facilitator.verify(payment)).body).toMatchObject({ isValid: false });
});

test("reports success with the foreign transaction that submitted the authorization first", async () => {
  const payment = await signPayment(scene.chain.token);
  const balanceBefore = await scene.chain.balanceOf(payee);
  const pendingSettlement = scene.facilitator.settle(payment);
  const [ours] = await until("it is in the pool", generousMs, async () => {
    const transactions = await pooled();
    return transactions.length === 1 && transactions;
  });
  const { input } = await scene.chain.anvil.request<{ input: Hex }>("eth_getTransactionByHash", [ours?.hash]);
  const theirs = await sendForeign(7, scene.chain.token, input);

  const response = await mineUntil(pendingSettlement);

  expect(response.body).toMatchObject({ success: true, transaction: theirs });
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(amount);
});

test("returns 500 while the signer has no native currency, and settles the payment afterwards", async () => {
  const payment = await signPayment(scene.chain.token);
  const held = await scene.chain.anvil.request<Hex>("eth_getBalance", [signer.address, "latest"]);
  await scene.chain.anvil.request("anvil_setBalance", [signer.address, "0x0"]);

  expect(await scene.facilitator.settle(payment)).toEqual({
    status: 500,
    body: { error: expect.stringMatching(/insufficient funds/i) },
  });

  await scene.chain.anvil.request("anvil_setBalance", [signer.address, held]);
  expect((await mineUntil(scene.facilitator.settle(payment))).body).toMatchObject({ success: true });
});
