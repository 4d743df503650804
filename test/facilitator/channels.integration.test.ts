import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { x402Client } from "@x402/core/client";
import { decodePaymentResponseHeader, HTTPFacilitatorClient } from "@x402/core/http";
import { x402ResourceServer } from "@x402/core/server";
import type { PaymentPayload, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { BatchSettlementEvmScheme as Buyer, computeChannelId, signVoucher } from "@x402/evm/batch-settlement/client";
import { BatchSettlementEvmScheme as ReferenceFacilitator } from "@x402/evm/batch-settlement/facilitator";
import { BatchSettlementEvmScheme as Seller } from "@x402/evm/batch-settlement/server";
import { wrapFetchWithPayment } from "@x402/fetch";
import { paymentMiddleware } from "@x402/hono";
import { Hono } from "hono";
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  parseAbi,
  publicActions,
  zeroAddress,
  type Hex,
} from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { payingFetch } from "#client/paying-fetch.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { plainTokenAddress } from "#devnet/contracts/addresses.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../support/payments/payment-chain.ts";
import { createTemporaryFolder } from "../support/payments/shop.ts";
import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { runInProcess } from "../support/command-in-process.ts";
import {
  buildFacilitatorEnvironment,
  createLedgerFolder,
  startFacilitator,
  startFacilitatorInProcess,
  type FacilitatorClient,
} from "../support/facilitator/running-facilitator.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const plainDomain = { name: "Devnet Plain Token", version: "1" };
const plainToken = { address: plainTokenAddress, ...plainDomain };
const settings = ({ token }: Pick<PaymentChain, "token">) => ({
  GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: token, name: "USDC", version: "2" }, plainToken]),
  GATEHOUSE_FACILITATOR_SETTLEMENT_GAS_LIMIT: "500000",
});
const scene = useFacilitatorScene({ ledger: "channels", env: settings });
let reference: ReferenceFacilitator;
const network = "eip155:1672";
const payee = testAccount(2).address;
const authorizer = testAccount(3);
const price = 1_000n;
const channelsDomain = {
  name: "x402 Batch Settlement",
  version: "1",
  chainId: 1672,
  verifyingContract: canonicalContracts.batchSettlement.address,
} as const;

beforeAll(() => {
  const wallet = connectAs(9);
  reference = new ReferenceFacilitator(toFacilitatorEvmSigner({ ...wallet, address: wallet.account.address } as never));
});

const connect = () => createPublicClient({ transport: http(scene.chain.url), pollingInterval: 50 });

function connectAs(index: number) {
  const chainOf = defineChain({
    id: 1672,
    name: "test",
    nativeCurrency: { name: "T", symbol: "T", decimals: 18 },
    rpcUrls: { default: { http: [scene.chain.url] } },
  });
  const { account } = testAccount(index);
  return createWalletClient({ account, chain: chainOf, transport: http(scene.chain.url), pollingInterval: 50 }).extend(
    publicActions,
  );
}

const signerOf = (index: number) => ({
  address: testAccount(index).address,
  signTypedData: (message: never) => testAccount(index).account.signTypedData(message),
  readContract: (call: never) => connect().readContract(call),
});

/** Creates a buyer with its own channel. */
const createBuyer = (index: number, salt: number, options: object = {}) =>
  new Buyer(signerOf(index) as never, { salt: `0x${salt.toString(16).padStart(64, "0")}`, ...options });

const offer = (extra: Record<string, unknown> = {}, asset = scene.chain.token): PaymentRequirements => ({
  scheme: "batch-settlement",
  network,
  asset,
  amount: String(price),
  payTo: payee,
  maxTimeoutSeconds: 60,
  extra: { receiverAuthorizer: authorizer.address, withdrawDelay: 900, name: "USDC", version: "2", ...extra },
});

type Payload = Record<string, never> & { channelConfig: never; voucher: { channelId: Hex } };

async function pay(buyer: Buyer, accepted: PaymentRequirements, context?: object) {
  const createdPayload = await buyer.createPaymentPayload(2, accepted, context as never);
  return {
    payload: createdPayload.payload as Payload,
    paymentPayload: { accepted, ...createdPayload },
    paymentRequirements: accepted,
  };
}

async function openChannel(salt: number, payer = 1, at: FacilitatorClient = scene.facilitator) {
  const body = await pay(createBuyer(payer, salt), offer());
  const { body: settled } = await at.settle(body);
  expect(settled).toMatchObject({ success: true });
  const { channelConfig, voucher } = body.payload;
  const sign = async (max: bigint, index = payer) => ({
    type: "voucher",
    channelConfig,
    voucher: await signVoucher(signerOf(index) as never, voucher.channelId, String(max), network),
  });
  return { channelConfig, channelId: voucher.channelId, settled, sign };
}

const bodyOf = (payload: object, requirements = offer()) => ({
  x402Version: 2,
  paymentPayload: { x402Version: 2, accepted: requirements, payload },
  paymentRequirements: requirements,
});

/** Sells `GET /` for at most the price with the published middleware, and charges all of it. */
async function openShop(at: FacilitatorClient): Promise<AsyncDisposable & { url: string; seller: Seller }> {
  const seller = new Seller(payee, { receiverAuthorizerSigner: authorizer.account });
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: at.url })).register(network, seller);
  const extra = { name: "USDC", version: "2" };
  const accepts = {
    scheme: "batch-settlement",
    network,
    payTo: payee,
    price: { amount: String(price), asset: scene.chain.token, extra },
  };
  const app = new Hono();
  app.use(paymentMiddleware({ "GET /": { accepts, description: "sold" } } as never, server));
  app.get("/", (c) => c.text("sold"));
  const listener = getRequestListener(app.fetch);
  const web: Server = createServer((request, response) => void listener(request, response));
  const local = await listenLocally(web);
  return {
    url: `${local.url}/`,
    seller,
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}

test("the published buyer and seller deposit, pay by voucher, claim, settle and refund", async () => {
  await using shop = await openShop(scene.facilitator);
  const buyer = createBuyer(1, 1);
  const buy = wrapFetchWithPayment(fetch, new x402Client().setSpendControls(false).register(network, buyer as never));
  const [held, earned] = [await scene.chain.balanceOf(testAccount(1).address), await scene.chain.balanceOf(payee)];
  const responses: SettleResponse[] = [];
  for (let sale = 0; sale < 3; sale += 1) {
    const response = await buy(shop.url);
    expect(await response.text()).toBe("sold");
    responses.push(decodePaymentResponseHeader(response.headers.get("PAYMENT-RESPONSE") ?? ""));
  }
  expect(responses[0]).toMatchObject({
    success: true,
    transaction: expect.stringMatching(/^0x/),
    amount: "10000",
    extra: { chargedAmount: "1000", channelState: { balance: "10000", totalClaimed: "0", refundNonce: "0" } },
  });
  expect(responses[2]).toMatchObject({
    transaction: "",
    amount: "",
    extra: { channelState: { chargedCumulativeAmount: "3000" } },
  });
  const manager = shop.seller.createChannelManager(
    new HTTPFacilitatorClient({ url: scene.facilitator.url }) as never,
    network,
    scene.chain.token,
  );
  expect(await manager.claim()).toMatchObject([{ vouchers: 1 }]);
  expect((await scene.chain.balanceOf(payee)) - earned, "a claim moves nothing").toBe(0n);
  await manager.settle();
  expect((await scene.chain.balanceOf(payee)) - earned).toBe(3n * price);
  await buy(shop.url);
  expect(await buyer.refund(shop.url)).toMatchObject({ success: true, amount: "6000" });
  expect(held - (await scene.chain.balanceOf(testAccount(1).address)), "paid what was charged").toBe(4n * price);
});

test("our buyer reuses its channel at the published seller after a restart, within its limits", async () => {
  await using shop = await openShop(scene.facilitator);
  await using folder = await createTemporaryFolder();
  const open = (name: string, maxTotal: string) =>
    payingFetch({
      account: testAccount(5).account,
      assets: [{ network, address: scene.chain.token, decimals: 6 }],
      maxPerPayment: "0.001",
      maxTotal,
      channels: { directory: join(folder.path, name) },
    });
  const held = await scene.chain.balanceOf(testAccount(5).address);
  const buyTimes = async (buy: typeof fetch, count: number) => {
    const told: SettleResponse[] = [];
    for (let sale = 0; sale < count; sale += 1) {
      const response = await buy(shop.url);
      expect([response.status, await response.text()]).toEqual([200, "sold"]);
      told.push(decodePaymentResponseHeader(response.headers.get("PAYMENT-RESPONSE") ?? ""));
    }
    return told;
  };
  const first = open("kept", "0.004");
  const told = await buyTimes(first, 4);
  expect(
    told.map(({ amount }) => amount),
    "up to the limit, not only five payments",
  ).toEqual(["4000", "", "", ""]);
  await expect(first(shop.url)).rejects.toThrow(/cap is 0.004/);
  expect(await buyTimes(open("kept", "0.003"), 2)).toMatchObject([
    { amount: "3000", extra: { channelState: { chargedCumulativeAmount: "5000" } } },
    { amount: "", extra: { channelState: { chargedCumulativeAmount: "6000" } } },
  ]);
  expect(await buyTimes(open("lost", "0.01"), 1), "no second channel").toMatchObject([
    { amount: "", extra: { channelState: { chargedCumulativeAmount: "7000" } } },
  ]);
  expect(held - (await scene.chain.balanceOf(testAccount(5).address)), "deposited").toBe(7_000n);
});

test("/verify returns the published facilitator's responses", async () => {
  const channel = await openChannel(2);
  const deposit = await pay(createBuyer(1, 3), offer());
  const wallet = await pay(createBuyer(4, 4, { payerAuthorizer: zeroAddress }), offer());
  const { channelConfig, channelId, sign } = channel;
  const voucher = await sign(2n * price);
  const change = (part: object) => ({ ...voucher, channelConfig: { ...(channelConfig as object), ...part } });
  const authorization = (deposit.payload["deposit"] as unknown as { authorization: { erc3009Authorization: object } })
    .authorization.erc3009Authorization;
  const changeDeposit = (part: object, amount = "5000") =>
    bodyOf({
      ...deposit.payload,
      deposit: { amount, authorization: { erc3009Authorization: { ...authorization, ...part } } },
    });
  const cases: readonly (readonly [string, ReturnType<typeof bodyOf>])[] = [
    ["a voucher", bodyOf(voucher)],
    ["a voucher for all", bodyOf(await sign(5n * price))],
    ["a voucher for more than the balance", bodyOf(await sign(5n * price + 1n))],
    ["a voucher for nothing", bodyOf(await sign(0n))],
    ["a refund's voucher for nothing", bodyOf({ ...(await sign(0n)), type: "refund" })],
    ["another's voucher", bodyOf(await sign(price, 5))],
    ["a changed voucher", bodyOf({ ...voucher, voucher: { ...voucher.voucher, maxClaimableAmount: "3000" } })],
    ["no signature", bodyOf({ ...voucher, voucher: { ...voucher.voucher, signature: "0x" } })],
    ["terms that don't match the ID", bodyOf(change({ salt: `0x${"77".repeat(32)}` }))],
    ["another payee", bodyOf(voucher, { ...offer(), payTo: testAccount(5).address })],
    ["another token", bodyOf(voucher, offer(plainDomain, plainTokenAddress))],
    ["another authorizer", bodyOf(voucher, offer({ receiverAuthorizer: payee }))],
    ["no authorizer", bodyOf(voucher, offer({ receiverAuthorizer: zeroAddress }))],
    ["another delay", bodyOf(voucher, offer({ withdrawDelay: 901 }))],
    ["an unknown channel", bodyOf({ ...wallet.payload, type: "voucher" })],
    ["a call by the seller", bodyOf({ type: "settle", receiver: payee, token: scene.chain.token })],
    ["another type", bodyOf({ ...voucher, type: "gift" })],
    ["a deposit", deposit as never],
    ["a deposit signed by a key without an authorizer", wallet as never],
    ["a deposit of an amount other than signed", changeDeposit({}, "5001")],
    ["a deposit with an expiry other than signed", changeDeposit({ validBefore: "4000000000" })],
    ["a deposit that expires too soon", (await pay(createBuyer(1, 3), { ...offer(), maxTimeoutSeconds: 1 })) as never],
    ["no authorization", bodyOf({ ...deposit.payload, deposit: { amount: "5000", authorization: {} } })],
    ["no EIP-712 domain of the token", bodyOf(deposit.payload, offer({ name: undefined }))],
  ];
  expect(channelId).toBe(computeChannelId(channelConfig, network));
  for (const [what, body] of cases) {
    const theirs = await reference.verify(body.paymentPayload as PaymentPayload, body.paymentRequirements);
    const { status, body: ours } = await scene.facilitator.verify(body);
    const { invalidMessage: _, ...told } = ours as typeof ours & { invalidMessage?: string };
    expect(status, what).toBe(200);
    expect(told, what).toEqual(JSON.parse(JSON.stringify(theirs)));
  }
});

const countCalls = () => scene.tap.counts.get("eth_call") ?? 0;

test("verifies vouchers of a known channel without a call to the node, up to its balance", async () => {
  const { sign, channelConfig } = await openChannel(5);
  const callsBefore = countCalls();
  expect(callsBefore).toBeGreaterThan(0);
  for (const max of [1n, 2n, 3n]) {
    expect((await scene.facilitator.verify(bodyOf(await sign(max * price)))).body).toMatchObject({ isValid: true });
  }
  expect(countCalls()).toBe(callsBefore);
  expect((await scene.facilitator.verify(bodyOf(await sign(9n * price)))).body).toMatchObject({
    invalidReason: "invalid_batch_settlement_evm_cumulative_exceeds_balance",
  });
  expect(countCalls()).toBeGreaterThan(callsBefore);
  const wallet = connectAs(1);
  const hash = await wallet.writeContract({
    address: canonicalContracts.batchSettlement.address,
    abi: parseAbi([
      "function initiateWithdraw((address payer, address payerAuthorizer, address receiver, address receiverAuthorizer, address token, uint40 withdrawDelay, bytes32 salt) config, uint128 amount)",
    ]),
    functionName: "initiateWithdraw",
    args: [channelConfig, 5_000n],
  });
  await wallet.waitForTransactionReceipt({ hash });
  await scene.facilitator.verify(bodyOf(await sign(9n * price)));
  const { body } = await scene.facilitator.verify(bodyOf(await sign(4n * price)));
  expect(body.extra?.["withdrawRequestedAt"]).toBeGreaterThan(0);
});

test("opens a channel in a plain token by a Permit2 deposit", async () => {
  const acceptedOffer = offer({ assetTransferMethod: "permit2", ...plainDomain }, plainTokenAddress);
  const buyer = createBuyer(6, 6);
  const rejectedResponse = await pay(buyer, acceptedOffer);
  expect((await scene.facilitator.verify(rejectedResponse)).body).toMatchObject({
    invalidReason: "invalid_batch_settlement_evm_permit2_allowance_required",
  });
  const body = await pay(buyer, acceptedOffer, { extensions: { eip2612GasSponsoring: {} } });
  expect((await scene.facilitator.verify(body)).body).toMatchObject({ isValid: true });
  expect((await scene.facilitator.settle(body)).body).toMatchObject({
    success: true,
    amount: "5000",
    extra: { channelState: { balance: "5000" } },
  });
});

test.each([
  ["EIP-3009", offer, "invalid_exact_evm_nonce_already_used"],
  [
    "Permit2",
    () => offer({ ...plainDomain, assetTransferMethod: "permit2" }, plainTokenAddress),
    "permit2_invalid_nonce",
  ],
])("reports that the nonce of a deposit by %s was used elsewhere", async (method, createOffer, reason) => {
  const body = await pay(createBuyer(8, 9), createOffer(), { extensions: { eip2612GasSponsoring: {} } });
  await using other = await scene.start(`other-${method}`, settings(scene.chain));
  expect((await other.settle(body)).body).toMatchObject({ success: true });
  const sent = await countSent();
  const { body: verdict } = await scene.facilitator.verify(body);
  expect(verdict).toMatchObject({ isValid: false, invalidReason: reason });
  const { body: settled } = await scene.facilitator.settle(body);
  expect(settled).toMatchObject({ success: false, errorReason: reason, transaction: "" });
  expect(await countSent()).toBe(sent);
});

test("submits a claim once despite kill -9, and rejects a refund of its deposit as a payment", async () => {
  await using slow = await startPaymentChain({ blockTimeSeconds: 3_600 });
  await using ledgers = await createLedgerFolder();
  const env = { GATEHOUSE_FACILITATOR_SETTLEMENT_GAS_LIMIT: "500000" };
  const place = { rpcUrl: slow.url, token: slow.token, ledgerPath: ledgers.path("killed"), env };
  const count = async (block: string) =>
    Number(await slow.anvil.request("eth_getTransactionCount", [testAccount(0).address, block]));
  await using first = await startFacilitator(place);
  const deposit = await pay(createBuyer(1, 7), offer());
  const opening = first.settle(deposit);
  await until("the deposit is sent", generousMs, async () => (await count("pending")) === 1);
  await slow.anvil.mine();
  expect((await opening).body).toMatchObject({ success: true });
  const killed = bodyOf(await signClaim(deposit.payload as never), managed());
  const mined = await count("latest");
  const cut = expect(first.as("seller").settle(killed)).rejects.toThrow();
  await until("it is sent", generousMs, async () => (await count("pending")) === mined + 1);
  await first.process.end("SIGKILL");
  await cut;
  await using second = await startFacilitatorInProcess(place);
  await slow.anvil.mine();
  const { body: settled } = await second.as("seller").settle(killed);
  expect(settled).toMatchObject({ success: true, transaction: expect.stringMatching(/^0x/) });
  expect((await second.settle(killed)).body).toEqual(settled);
  expect(await count("pending"), "one transaction").toBe(mined + 1);
  await second[Symbol.asyncDispose]();
  const books = buildFacilitatorEnvironment(place);
  const { status, stdout } = await runInProcess(["ledger", "export"], books);
  expect([status, stdout.match(/,settled,.*,agrees,/g)?.length]).toEqual([0, 2]);
  const keyFile = ledgers.path("payee.key");
  await writeFile(keyFile, testAccount(2).privateKey.slice(2));
  const paid = stdout.match(/eip155:1672\|[^,]*/g) ?? [];
  expect(paid).toHaveLength(2);
  const refund = await runInProcess(["ledger", "refund", paid[0] ?? "", "--key-file", keyFile, "--yes"], books);
  expect([refund.status, refund.stderr]).toEqual([1, expect.stringContaining("belongs to a channel")]);
});

test("repeats a deposit's outcome to its seller after its voucher was claimed", async () => {
  const deposit = await pay(createBuyer(1, 21), offer());
  const { body: made } = await scene.facilitator.as("seller").settle(deposit);
  const claim = bodyOf(await signClaim(deposit.payload as never), managed());
  expect((await scene.facilitator.as("seller").settle(claim)).body).toMatchObject({ success: true });
  const { body: again } = await scene.facilitator.as("seller").settle(deposit);
  expect(again).toMatchObject({ success: true, transaction: made.transaction, amount: made.amount });
});

/** Requirements that the published seller sends with its own calls. */
const managed = (): PaymentRequirements => ({ ...offer(), amount: "0", maxTimeoutSeconds: 0, extra: {} });

/** Signs the claim of a deposit's voucher, as its seller. */
async function signClaim({
  channelConfig: channel,
  voucher: { signature, maxClaimableAmount },
}: Payload & { voucher: { signature: Hex; maxClaimableAmount: string } }) {
  // Some wallets sign with a `v` of 0 or 1, which /verify accepts and contracts don't.
  const short: Hex = `0x${signature.slice(2, -2)}0${Number(`0x${signature.slice(-2)}`) - 27}`;
  const claims = [{ voucher: { channel, maxClaimableAmount }, signature: short, totalClaimed: maxClaimableAmount }];
  return { type: "claim", claims, claimAuthorizerSignature: await signClaimBatch(claims) };
}

async function signClaimBatch(claims: readonly { voucher: { channel: never }; totalClaimed: string }[]): Promise<Hex> {
  const entry = [
    { name: "channelId", type: "bytes32" },
    { name: "maxClaimableAmount", type: "uint128" },
    { name: "totalClaimed", type: "uint128" },
  ];
  return authorizer.account.signTypedData({
    domain: channelsDomain,
    types: { ClaimBatch: [{ name: "claims", type: "ClaimEntry[]" }], ClaimEntry: entry },
    primaryType: "ClaimBatch",
    message: {
      claims: claims.map(({ voucher: { channel }, totalClaimed }) => ({
        channelId: computeChannelId(channel, network),
        maxClaimableAmount: BigInt(totalClaimed),
        totalClaimed: BigInt(totalClaimed),
      })),
    },
  } as never);
}

test("rejects claims and refunds without the seller's signature, or above the signed amount", async () => {
  const { sign } = await openChannel(8);
  const voucher = await sign(2n * price);
  const signedClaim = await signClaim(voucher as never);
  const refund = { ...voucher, type: "refund", amount: "5000", refundNonce: "0", claims: [] };
  const more = { ...signedClaim, claims: signedClaim.claims.map((claim) => ({ ...claim, totalClaimed: "3000" })) };
  const prefix = "invalid_batch_settlement_evm_";
  const cases = [
    [{ ...signedClaim, claimAuthorizerSignature: undefined }, "authorizer_not_configured"],
    [{ ...signedClaim, claimAuthorizerSignature: `0x${"11".repeat(65)}` }, "claim_simulation_failed"],
    [{ ...more, claimAuthorizerSignature: await signClaimBatch(more.claims) }, "claim_simulation_failed"],
    [refund, "authorizer_not_configured"],
    [{ ...refund, refundAuthorizerSignature: voucher.voucher.signature }, "refund_simulation_failed"],
    [{ type: "settle", receiver: testAccount(7).address, token: scene.chain.token }, "receiver_mismatch"],
    [voucher, "payload_type"],
  ] as const;
  const transactionCountBefore = await connect().getTransactionCount({ address: testAccount(0).address });
  for (const [payload, reason] of cases) {
    const { body } = await scene.facilitator.settle(bodyOf(payload, managed()));
    expect(body, reason).toMatchObject({ success: false, transaction: "", errorReason: prefix + reason });
  }
  expect(await connect().getTransactionCount({ address: testAccount(0).address })).toBe(transactionCountBefore);
});

const countSent = () => connect().getTransactionCount({ address: testAccount(0).address });
const keyOf = (seller: string) => `key-of-${seller}-of-16-characters-or-more`;

/** Signs, as their seller, a claim of a voucher, and a refund of the rest of its channel. */
async function signSellerCalls(voucher: { channelConfig: never; voucher: { channelId: Hex } }, amount = 5_000n) {
  const claim = await signClaim(voucher as never);
  const message = { channelId: voucher.voucher.channelId, nonce: 0n, amount };
  const refundAuthorizerSignature = await authorizer.account.signTypedData({
    domain: channelsDomain,
    types: {
      Refund: [
        { name: "channelId", type: "bytes32" },
        { name: "nonce", type: "uint256" },
        { name: "amount", type: "uint128" },
      ],
    },
    primaryType: "Refund",
    message,
  });
  const refund = {
    ...voucher,
    type: "refund",
    amount: String(amount),
    refundNonce: "0",
    claims: [],
    refundAuthorizerSignature,
  };
  return { claim, refund, settle: { type: "settle", receiver: payee, token: scene.chain.token } };
}

describe("after part of a channel's terms was removed from the settings", () => {
  const salts = [31, 32, 33, 34] as const;
  const env = { GATEHOUSE_FACILITATOR_SETTLEMENT_GAS_LIMIT: "500000" };
  type Channel = Awaited<ReturnType<typeof openChannel>>;
  let channels: readonly Channel[];
  /** Its deposit is in another facilitator's ledger. */
  let elsewhere: Channel;
  beforeAll(async () => {
    elsewhere = await openChannel(131);
    await using startBefore = await scene.start("removed", env);
    channels = await Promise.all(salts.map((salt) => openChannel(salt, 1, startBefore)));
    for (const { sign } of channels)
      expect((await startBefore.verify(bodyOf(await sign(2n * price)))).body).toMatchObject({ isValid: true });
  });

  test.each([
    ["asset", { GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([plainToken]) }, ["asset"]],
    ["payee", { GATEHOUSE_FACILITATOR_PAYEES: JSON.stringify([authorizer.address]) }, ["payee"]],
    [
      "seller's asset or payee",
      {
        GATEHOUSE_FACILITATOR_API_KEYS: `alice=${keyOf("alice")},bob=${keyOf("bob")}`,
        GATEHOUSE_FACILITATOR_SELLERS: JSON.stringify([
          { name: "alice", assets: [{ address: plainTokenAddress }] },
          { name: "bob", payees: [authorizer.address] },
        ]),
      },
      ["alice", "bob"],
    ],
  ] as const)("rejects vouchers without the %s, but claims, settles and refunds", async (_, changes, parts) => {
    await using after = await scene.start("removed", { ...env, ...changes });
    for (const part of parts) await expectOnlyClaims(part, after);
  });

  const removed = {
    asset: [0, "is not settled here"],
    payee: [1, "is not allowed here"],
    alice: [2, "is not settled for alice"],
    bob: [3, "is not settled for bob"],
  } as const;

  async function expectOnlyClaims(part: keyof typeof removed, after: FacilitatorClient): Promise<void> {
    const [index, why] = removed[part];
    const channel = channels[index] ?? elsewhere;
    const seller = index < 2 ? after : after.as({ authorization: `Bearer ${keyOf(part)}` });
    const rejection = { invalidReason: "invalid_payment_requirements", invalidMessage: expect.stringContaining(why) };
    const rejected = { success: false, transaction: "", errorReason: rejection.invalidReason };

    const voucher = await channel.sign(2n * price);
    const own = await signSellerCalls(voucher as never);
    const foreignSellerCalls = await signSellerCalls((await elsewhere.sign(2n * price)) as never);
    expect((await seller.verify(bodyOf(await channel.sign(3n * price)))).body).toMatchObject(rejection);
    const transactions = await countSent();
    for (const call of [foreignSellerCalls.claim, foreignSellerCalls.refund])
      expect((await seller.settle(bodyOf(call, managed()))).body, "not recorded here").toMatchObject(rejected);
    expect((await seller.verify(bodyOf({ ...(await elsewhere.sign(0n)), type: "refund" }))).body).toMatchObject(
      rejection,
    );
    expect(await countSent()).toBe(transactions);

    expect((await seller.settle(bodyOf(own.claim, managed()))).body).toMatchObject({ success: true });
    expect((await seller.settle(bodyOf(own.settle, managed()))).body).toMatchObject({ success: true });
    const returned = bodyOf({ ...voucher, type: "refund" });
    expect((await seller.verify(returned)).body).toMatchObject({ isValid: true });
    expect((await seller.settle(bodyOf(own.refund, managed()))).body).toMatchObject({ success: true, amount: "3000" });
  }
});

test("settles a seller's claims in a removed asset only if a deposit to that seller is recorded", async () => {
  const { sign } = await openChannel(41);
  const { claim, settle } = await signSellerCalls((await sign(2n * price)) as never);
  expect((await scene.facilitator.settle(bodyOf(claim, managed()))).body).toMatchObject({ success: true });
  await using other = await scene.start("no-deposit", { GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([plainToken]) });
  expect((await other.settle(bodyOf(settle, managed()))).body).toMatchObject({
    success: false,
    transaction: "",
    errorReason: "invalid_payment_requirements",
  });
  expect((await scene.facilitator.settle(bodyOf(settle, managed()))).body).toMatchObject({ success: true });
});

test("applies minAmount to claims and refunds, unless they leave nothing in the channel", async () => {
  const asset = { address: scene.chain.token, name: "USDC", version: "2", minAmount: 4_000 };
  await using facilitator = await scene.start("minimum", {
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([asset]),
    GATEHOUSE_FACILITATOR_SETTLEMENT_GAS_LIMIT: "500000",
  });
  const [left, emptied] = [await openChannel(51, 1, facilitator), await openChannel(52, 1, facilitator)];
  const settle = async (payload: object) => (await facilitator.settle(bodyOf(payload, managed()))).body;
  const rejection = {
    success: false,
    transaction: "",
    errorMessage: expect.stringContaining("the minimum here is 4000"),
  };
  const voucher = await left.sign(2n * price);
  const { claim, refund, settle: transfer } = await signSellerCalls(voucher as never);
  const { claim: paid, refund: part } = await signSellerCalls((await left.sign(4n * price)) as never, 500n);
  const { claims, claimAuthorizerSignature } = paid;
  for (const call of [claim, { ...part, claims, claimAuthorizerSignature }])
    expect(await settle(call)).toMatchObject(rejection);
  expect(await settle(await signClaim((await emptied.sign(4n * price)) as never))).toMatchObject({ success: true });
  // Together with other tests' claims, the amount may exceed a transfer's minimum.
  expect(await settle(transfer)).toMatchObject({ success: true });
  expect(await settle(await signClaim((await emptied.sign(5n * price)) as never)), "the rest").toMatchObject({
    success: true,
  });
  expect(await settle(transfer), "below the minimum").toMatchObject({ success: true, amount: "1000" });
  expect(await settle({ ...refund, claims, claimAuthorizerSignature })).toMatchObject({
    success: true,
    amount: "1000",
  });
});

test("rejects a stranger's refund until the channel has paid minAmount to its payee", async () => {
  const asset = { address: scene.chain.token, name: "USDC", version: "2", minAmount: 4_000 };
  const env = {
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([asset]),
    GATEHOUSE_FACILITATOR_PAYEES: JSON.stringify([payee]),
    GATEHOUSE_FACILITATOR_SETTLEMENT_GAS_LIMIT: "500000",
  };
  await using facilitator = await scene.start("strangers", env);
  const channels = [await openChannel(61, 1, facilitator), await openChannel(62, 1, facilitator)] as const;
  const settle = async (payload: object) => (await facilitator.settle(bodyOf(payload, managed()))).body;
  const sent = await countSent();
  const message = expect.stringMatching(/has paid 0 .* 4000 .*assets\[\]\.minAmount.*API key/);
  const unpaidPayment = { ...(await channels[0].sign(0n)), type: "refund" };
  const { refund } = await signSellerCalls(unpaidPayment as never);
  expect(await settle(refund)).toMatchObject({ success: false, transaction: "", errorMessage: message });
  expect((await facilitator.verify(bodyOf(unpaidPayment))).body).toMatchObject({
    isValid: false,
    invalidMessage: message,
  });
  expect(await countSent()).toBe(sent);

  const paid = await signSellerCalls((await channels[0].sign(4n * price)) as never);
  const returnedPayment = { ...(await channels[0].sign(4n * price)), type: "refund" };
  expect((await facilitator.verify(bodyOf(returnedPayment))).body).toMatchObject({ isValid: true });
  const { claims, claimAuthorizerSignature } = paid.claim;
  const whole = { ...paid.refund, claims, claimAuthorizerSignature };
  expect(await settle(whole)).toMatchObject({ success: true, amount: "1000" });
  expect(await settle(whole), "repeated").toMatchObject({ success: true, amount: "1000" });

  await using keyed = await scene.start("keyed", { ...env, GATEHOUSE_FACILITATOR_API_KEYS: keyOf("seller") });
  const seller = keyed.as({ authorization: `Bearer ${keyOf("seller")}` });
  const own = { ...(await channels[1].sign(0n)), type: "refund" };
  expect((await seller.verify(bodyOf(own))).body).toMatchObject({ isValid: true });
  expect((await seller.settle(bodyOf((await signSellerCalls(own as never)).refund, managed()))).body).toMatchObject({
    success: true,
    amount: "5000",
  });
});
