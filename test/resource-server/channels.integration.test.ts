import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { BatchSettlementEvmScheme as Buyer } from "@x402/evm/batch-settlement/client";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { createPublicClient, createTestClient, createWalletClient, http, parseAbi, type Hex } from "viem";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { payingFetch } from "#client/paying-fetch.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { resourceServer } from "#resource-server/main.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { gatehouseProgram } from "../support/programs/place.ts";
import { runGatehouse } from "../support/run-command.ts";
import { startInProcess, type ServiceInProcess } from "../support/service-in-process.ts";
import type { ServiceProcess } from "../support/service-process.ts";
import {
  buildSettlingEnvironment,
  createTemporaryFolder,
  findUrl,
  openMarket,
  pay as sendPaid,
  payee,
  readRequired,
  readSettlement,
  type Market,
} from "../support/payments/shop.ts";
import { testAccount } from "../support/payments/payment-chain.ts";

const resources = new AsyncDisposableStack();
const network = "eip155:1672";
const price = 1_000n;
let market: Market;
let folder: string;
let shop: ServiceInProcess;
let url: string;

const channelsEnvironment = (routesPath: string, claimWithinSeconds: number) => ({
  GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath,
  GATEHOUSE_RESOURCE_SERVER_CHANNELS_PRIVATE_KEY: testAccount(3).privateKey,
  GATEHOUSE_RESOURCE_SERVER_CHANNELS_CLAIM_WITHIN_SECONDS: String(claimWithinSeconds),
});

async function writeRoutes(path: string): Promise<string> {
  const routesPath = join(path, "channels.json5");
  const accepts = { scheme: "batch-settlement", price: "0.001", network };
  const routes = {
    "GET /data": { accepts, upstream: `${market.upstream.url}/data` },
    "GET /other": { accepts, upstream: `${market.upstream.url}/other` },
  };
  await writeFile(routesPath, JSON.stringify(routes));
  return routesPath;
}

async function whenSelling<Shop extends Pick<ServiceProcess, "urls">>(opened: Shop): Promise<Shop> {
  await until(
    "the seller offers channels",
    generousMs,
    async () => (await fetch(`${findUrl(opened)}/data`)).status === 402,
  );
  return opened;
}

async function openChannelShop(path: string, claimWithinSeconds = 3_600, env: Readonly<Record<string, string>> = {}) {
  const channels = channelsEnvironment(await writeRoutes(path), claimWithinSeconds);
  return whenSelling(await market.openShopInProcess(path, { ...channels, ...env }));
}

beforeAll(async () => {
  market = resources.use(await openMarket());
  folder = resources.use(await createTemporaryFolder()).path;
  shop = resources.use(await openChannelShop(folder));
  url = `${findUrl(shop)}/data`;
});
afterAll(() => resources.disposeAsync());
beforeEach(() => market.upstream.behave("data"));

const chain = () => createPublicClient({ transport: http(market.chain.url), pollingInterval: 50 });
const signerOf = (index: number) => ({
  address: testAccount(index).address,
  signTypedData: (message: never) => testAccount(index).account.signTypedData(message),
  readContract: (call: never) => chain().readContract(call),
});

const payBy = (scheme: Buyer) =>
  wrapFetchWithPayment(fetch, new x402Client().setSpendControls(false).register(network, scheme as never));

async function getOffer(at: string): Promise<PaymentRequirements> {
  const { accepts } = readRequired(await fetch(at));
  return accepts[0] as PaymentRequirements;
}

/** The published buyer, with its own channel; `restart` creates another one that has lost its state. */
function createBuyer(salt: number, payer = 1) {
  const create = () => new Buyer(signerOf(payer) as never, { salt: `0x${salt.toString(16).padStart(64, "0")}` });
  const buyer = create();
  const sign = async (at = url) => {
    const acceptedOffer = await getOffer(at);
    const createdPayload = await buyer.createPaymentPayload(2, acceptedOffer);
    return {
      header: encodePaymentSignatureHeader({ accepted: acceptedOffer, ...createdPayload } as never),
      payload: createdPayload.payload,
    };
  };
  return { buyer, buy: payBy(buyer), restart: () => payBy(create()), sign };
}
const send = (at: string, { header }: Readonly<{ header: string }>) => sendPaid(at, header);
const errorOf = (response: Response) => readRequired(response).error;
const readChannel = (id: Hex) =>
  chain().readContract({
    address: canonicalContracts.batchSettlement.address,
    abi: parseAbi(["function channels(bytes32) view returns (uint128 balance, uint128 totalClaimed)"]),
    functionName: "channels",
    args: [id],
  });
const prefix = "invalid_batch_settlement_evm_";

test("the published client opens a channel, pays used amounts, recovers its total, and is refunded", async () => {
  const { buyer, buy, restart } = createBuyer(1);
  const held = await market.chain.balanceOf(testAccount(1).address);
  const openedPurchase = await buy(url);
  expect([openedPurchase.status, await openedPurchase.text()]).toEqual([200, expect.stringContaining("sold")]);
  expect(readSettlement(openedPurchase)).toMatchObject({
    success: true,
    transaction: expect.stringMatching(/^0x/),
    amount: "5000",
    extra: {
      chargedAmount: "1000",
      channelState: { balance: "5000", totalClaimed: "0", chargedCumulativeAmount: "1000" },
    },
  });
  market.upstream.behave("data", { "Settlement-Overrides": '{"amount":"300"}' });
  expect(readSettlement(await buy(url))).toMatchObject({
    transaction: "",
    amount: "",
    extra: { chargedAmount: "300", channelState: { chargedCumulativeAmount: "1300" } },
  });
  market.upstream.behave("data", { "Settlement-Overrides": '{"amount":"0"}' });
  const hits = market.upstream.hits();
  for (const path of ["data", "other", "data"])
    expect(readSettlement(await buy(url.replace("data", path)))).toMatchObject({ extra: { chargedAmount: "0" } });
  expect(market.upstream.hits() - hits, "a free response is not replayed").toBe(3);
  market.upstream.behave("data");
  expect(readSettlement(await restart()(url))).toMatchObject({
    extra: { channelState: { chargedCumulativeAmount: "2300" } },
  });
  const corrective = await send(url, await createBuyer(1).sign());
  await buyer.processCorrectivePaymentRequired(readRequired(corrective));
  expect(await buyer.refund(url)).toMatchObject({ success: true, amount: "2700" });
  expect(held - (await market.chain.balanceOf(testAccount(1).address)), "paid what was charged").toBe(2_300n);
});

test("rejects a channel's second request with channel_busy or a corrective offer, uncharged", async () => {
  const { buy, sign } = createBuyer(2);
  await buy(url);
  const voucher = await sign();
  const other = url.replace("data", "other");
  market.upstream.behave("held");
  const first = send(url, voucher);
  await until("the first request is being processed", generousMs, () => market.upstream.hits() === 1);
  const secondResponse = await send(other, voucher);
  expect([secondResponse.status, errorOf(secondResponse)]).toEqual([402, `${prefix}channel_busy`]);
  expect((await send(url, voucher)).status, "a copy of the same request waits").toBe(409);
  market.upstream.letGo();
  expect((await first).status).toBe(200);
  const late = await send(other, voucher);
  const { accepts } = readRequired(late);
  expect([late.status, errorOf(late)]).toEqual([402, `${prefix}cumulative_amount_mismatch`]);
  expect(accepts[0]?.extra).toMatchObject({
    channelState: { chargedCumulativeAmount: "2000" },
    voucherState: {
      signedMaxClaimable: "2000",
      signature: (voucher.payload["voucher"] as { signature: Hex }).signature,
    },
  });
  const changedVoucher = { ...(voucher.payload["voucher"] as object), maxClaimableAmount: "5" };
  const forged = { x402Version: 2, accepted: accepts[1], payload: { ...voucher.payload, voucher: changedVoucher } };
  const rejectedResponse = await send(url, { header: encodePaymentSignatureHeader(forged as never) });
  expect(errorOf(rejectedResponse), "no other caller gets the count").toBe(`${prefix}voucher_signature`);
  expect(market.upstream.hits()).toBe(1);
});

test("payingFetch queues concurrent requests of a channel, and pays for all with one deposit", async () => {
  await using state = await createTemporaryFolder();
  const buy = payingFetch({
    account: testAccount(6).account,
    assets: [{ network, address: market.chain.token, decimals: 6 }],
    maxPerPayment: "0.001",
    maxTotal: "0.005",
    channels: { directory: state.path },
  });
  const responses = await Promise.all(["data", "other", "data", "other"].map((path) => buy(url.replace("data", path))));
  const told = responses.map(readSettlement);
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(told.filter(({ amount }) => amount === "5000")).toHaveLength(1);
  const totals = told.map(({ extra }) => extra?.["channelState"] as Record<string, unknown> | undefined);
  expect(totals.map((one) => one?.["chargedCumulativeAmount"])).toEqual(
    expect.arrayContaining(["1000", "2000", "3000", "4000"]),
  );
});

test("a self-settling seller claims and settles its charges without a channel key", async () => {
  await using state = await createTemporaryFolder();
  const paths = {
    routesPath: await writeRoutes(state.path),
    settlementPath: join(state.path, "settlement.sqlite"),
    claimsPath: join(state.path, "claims.sqlite"),
  };
  const settlingEnvironment = {
    ...buildSettlingEnvironment(market.chain, paths),
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(8).privateKey,
  };
  const env = {
    ...settlingEnvironment,
    GATEHOUSE_RESOURCE_SERVER_CHANNELS_CLAIM_WITHIN_SECONDS: "1",
    GATEHOUSE_RESOURCE_SERVER_PAYMENT_RESUME_INTERVAL_MS: "200",
  };
  await using alone = await startInProcess(resourceServer, env);
  const { buy } = createBuyer(7, 7);
  const earned = await market.chain.balanceOf(payee.address);
  for (const total of ["1000", "2000"])
    expect(readSettlement(await buy(`${findUrl(alone)}/data`))).toMatchObject({
      extra: { channelState: { chargedCumulativeAmount: total } },
    });
  await until(
    "the funds are transferred",
    generousMs,
    async () => (await market.chain.balanceOf(payee.address)) - earned >= 2n * price,
  );
});

test.each([
  ["its voucher is stored", { flush: 1, salt: 4, isFirst: false, buysBefore: false }],
  ["its voucher is stored, before another purchase", { flush: 1, salt: 9, isFirst: false, buysBefore: true }],
  ["its deposit was made", { flush: 2, salt: 5, isFirst: true, buysBefore: false }],
  ["its deposit was made and its voucher is stored", { flush: 3, salt: 11, isFirst: true, buysBefore: false }],
])(
  "a server that is killed when %s charges and claims a payment once, and delivers the response",
  async (_when, how) => {
    await using state = await createTemporaryFolder();
    const { buy, sign, restart } = createBuyer(how.salt);
    const openedShop = await market.openShop(state.path, {
      ...channelsEnvironment(await writeRoutes(state.path), 3_600),
      GATEHOUSE_RESOURCE_SERVER_PAYMENT_RESUME_INTERVAL_MS: "60000",
      NODE_OPTIONS: `--import ${new URL("kill-at-flush.main.ts", import.meta.url).href}`,
      TEST_KILL_AT_FLUSH: String(how.flush),
    });
    const dying = await whenSelling(openedShop);
    if (!how.isFirst) expect((await buy(`${findUrl(dying)}/data`)).status).toBe(200);
    const payment = await sign();
    const { channelId } = payment.payload["voucher"] as { channelId: Hex };
    market.upstream.behave("held");
    const cut = send(`${findUrl(dying)}/data`, payment).catch(() => "cut off");
    await until("it is being processed", generousMs, () => market.upstream.hits() === 1);
    process.kill(dying.pid, "SIGUSR2");
    // The signal has been handled once this response arrives.
    await fetch(`${findUrl(dying)}/health`);
    market.upstream.letGo();
    expect(await cut).toBe("cut off");
    market.upstream.behave("data");
    const earned = await market.chain.balanceOf(payee.address);
    await using restartedShop = await openChannelShop(state.path, 1);
    const bought = restart();
    if (how.buysBefore)
      await until("the channel buys something else", generousMs, async () => {
        return (await bought(`${findUrl(restartedShop)}/other`)).status === 200;
      });
    const total = [!how.isFirst, true, how.buysBefore].filter(Boolean).length * Number(price);
    let response: Response | undefined;
    await until("the payment gets its response", generousMs, async () => {
      response = await send(`${findUrl(restartedShop)}/data`, payment);
      return response.status !== 409;
    });
    expect(readSettlement(response as Response)).toMatchObject({ success: true, extra: { chargedAmount: "1000" } });
    await until("it is claimed", generousMs, async () => (await readChannel(channelId))[1] === BigInt(total));
    await until(
      "the funds are transferred",
      generousMs,
      async () => (await market.chain.balanceOf(payee.address)) - earned >= total,
    );
    expect(await readChannel(channelId)).toEqual([5_000n, BigInt(total)]);
    expect(market.upstream.hits(), "not processed again").toBe(how.buysBefore ? 1 : 0);
    expect(errorOf(await send(`${findUrl(restartedShop)}/other`, payment))).toBe(`${prefix}cumulative_amount_mismatch`);
  },
);

/** `gatehouse pay` with a directory of channels; `payKilled` ends it with SIGKILL while its request is in progress. */
function createPayer(directory: string, account: number) {
  const limits = ["--max-amount", "1000", "--max-total", "5000", "--channels", directory];
  const args = ["pay", url, "--network", network, "--asset", market.chain.token, ...limits];
  const env = { GATEHOUSE_PAY_SIGNER_PRIVATE_KEY: testAccount(account).privateKey };
  const pay = async () => {
    const { status, stdout, stderr } = await runGatehouse(args, env);
    return status === 0 ? stdout.trim() : stderr;
  };
  const payKilled = async () => {
    const child = spawn(process.execPath, [gatehouseProgram, ...args], { env, stdio: "ignore" });
    const ended = once(child, "exit");
    await until("its request is being processed", generousMs, () => market.upstream.hits() === 1);
    child.kill("SIGKILL");
    await ended;
    market.upstream.letGo();
  };
  return { pay, payKilled };
}

test("a buyer killed during a free first request pays from its deposit when run again", async () => {
  await using state = await createTemporaryFolder();
  const { pay, payKilled } = createPayer(state.path, 5);
  const held = await market.chain.balanceOf(testAccount(5).address);
  const spent = async () => held - (await market.chain.balanceOf(testAccount(5).address));
  market.upstream.behave("held", { "Settlement-Overrides": '{"amount":"0"}' });
  await payKilled();
  await until("its deposit is made", generousMs, async () => (await spent()) === 5n * price);
  market.upstream.behave("data");
  expect([await pay(), await pay()]).toEqual(['{"sold":1}', '{"sold":2}']);
  expect(await spent()).toBe(5n * price);
});

test("a buyer killed during a request gets the paid response when run again", async () => {
  await using state = await createTemporaryFolder();
  const { pay, payKilled } = createPayer(state.path, 9);
  expect(await pay()).toBe('{"sold":1}');
  market.upstream.behave("held");
  await payKilled();
  market.upstream.behave("data");
  expect(await pay(), "what the killed process paid for").toBe('{"sold":1}');
  expect(market.upstream.hits(), "without further processing").toBe(0);
  expect([await pay(), await pay(), await pay()]).toEqual(['{"sold":1}', '{"sold":2}', '{"sold":3}']);
  expect(await pay(), "one deposit of five payments, all spent").toMatch(/sold/);
});

test("requires the old key in addition to a new one, and claims with the old key", async () => {
  await using state = await createTemporaryFolder();
  const { buy, sign } = createBuyer(12);
  {
    await using channelShopBefore = await openChannelShop(state.path);
    expect((await buy(`${findUrl(channelShopBefore)}/data`)).status).toBe(200);
  }
  const { payload } = await sign();
  const { channelId } = payload["voucher"] as { channelId: Hex };
  const [old, added] = [3, 5].map((index) => testAccount(index).privateKey);
  const setting = "GATEHOUSE_RESOURCE_SERVER_CHANNELS_PRIVATE_KEY";
  const without = { ...channelsEnvironment(await writeRoutes(state.path), 1), [setting]: `${added}` };
  const address = testAccount(3).address.toLowerCase();
  await expect(market.openShopInProcess(state.path, without)).rejects.toThrow(`only the key of ${address} can claim`);
  await using rotatedShop = await openChannelShop(state.path, 1, { [setting]: `${added},${old}` });
  await until("it is claimed", generousMs, async () => (await readChannel(channelId))[1] === price);
  const offeredOffer = await getOffer(`${findUrl(rotatedShop)}/data`);
  expect(offeredOffer.extra).toMatchObject({ receiverAuthorizer: testAccount(5).address });
});

test("claims all charges before a buyer's withdrawal at the contract", async () => {
  await using state = await createTemporaryFolder();
  await using claimingShop = await openChannelShop(state.path, 1);
  const at = `${findUrl(claimingShop)}/data`;
  const { buy, sign } = createBuyer(10, 8);
  const earned = await market.chain.balanceOf(payee.address);
  for (const status of [200, 200]) expect((await buy(at)).status).toBe(status);
  const { payload } = await sign(at);
  const { channelId } = payload["voucher"] as { channelId: Hex };
  const terms =
    "(address payer, address payerAuthorizer, address receiver, address receiverAuthorizer, address token, uint40 withdrawDelay, bytes32 salt)";
  const abi = parseAbi([
    `function initiateWithdraw(${terms} config, uint128 amount)`,
    `function finalizeWithdraw(${terms} config)`,
  ]);
  const transport = http(market.chain.url);
  const wallet = createWalletClient({ account: testAccount(8).account, transport });
  const { address } = canonicalContracts.batchSettlement;
  const config = payload["channelConfig"] as never;
  const common = { address, abi, chain: null } as const;
  await wallet.writeContract({ ...common, functionName: "initiateWithdraw", args: [config, 3_000n] });
  await until("it is claimed", generousMs, async () => (await readChannel(channelId))[1] === 2n * price);
  await until(
    "the funds are transferred",
    generousMs,
    async () => (await market.chain.balanceOf(payee.address)) - earned >= 2n * price,
  );
  await createTestClient({ mode: "anvil", transport }).mine({ blocks: 2, interval: 86_400 });
  const hash = await wallet.writeContract({ ...common, functionName: "finalizeWithdraw", args: [config] });
  await chain().waitForTransactionReceipt({ hash });
  expect(await readChannel(channelId)).toEqual([2n * price, 2n * price]);
});
