import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { ExactEvmScheme } from "@x402/evm";
import { encodeFunctionData, erc20Abi, parseAbi, parseSignature, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startNginx } from "../bench/gateway/proxies.ts";
import { openMarket, payee, payer, type Market } from "../support/payments/shop.ts";
import { testAccount, type TestAccount } from "../support/payments/payment-chain.ts";

/** Published attacks on x402: docs/attacks.md lists who published each. */
const resources = new AsyncDisposableStack();
let market: Market;
let folder: string;
let shopUrl: string;

beforeAll(async () => {
  market = resources.use(await openMarket());
  const sell = (price: string) => ({
    accepts: { scheme: "exact", price, network: "eip155:1672" },
    upstream: market.upstream.url,
  });
  const routes = { "GET /cheap": sell("0.01"), "GET /dear": sell("0.05"), "GET /twin": sell("0.01") };
  const shop = resources.use(await market.openOwnShop({}, { routes }));
  ({ folder, origin: shopUrl } = shop);
});
afterAll(() => resources.disposeAsync());
afterEach(() => market.upstream.behave("data"));

const tokenAbi = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
  "function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
]);

const sendToToken = (from: TestAccount, data: Hex) => market.chain.send(from, market.chain.token, data);

/** Signs a payment for a route; returns the payment and its header. */
async function sign(path: string, buyer: TestAccount = payer) {
  const unpaidResponse = await fetch(shopUrl + path);
  const { accepts } = decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "");
  const [accepted] = accepts as [PaymentRequirements];
  const { payload } = await new ExactEvmScheme(buyer.account).createPaymentPayload(2, accepted);
  const { authorization, signature } = payload as { authorization: Record<string, string>; signature: Hex };
  const header = encodePaymentSignatureHeader({ x402Version: 2, accepted, payload });
  return {
    authorization,
    signature,
    send: (to = path, base = shopUrl) => fetch(base + to, { headers: { "PAYMENT-SIGNATURE": header } }),
  };
}

/** Starts a purchase whose upstream withholds its response until the test releases it. */
async function buyWhile(
  payment: Awaited<ReturnType<typeof sign>>,
  meanwhile: () => Promise<unknown>,
): Promise<Response> {
  market.upstream.behave("held");
  const pendingResponse = payment.send();
  await until("the upstream is processing the request", generousMs, () => market.upstream.hits() === 1);
  await meanwhile();
  market.upstream.letGo();
  return pendingResponse;
}

test("grant and revert: a payer that empties its account during the work gets 402", async () => {
  const buyer = testAccount(3);
  const payment = await sign("/cheap", buyer);
  const everything = await market.chain.balanceOf(buyer.address);
  const away = encodeFunctionData({
    abi: erc20Abi,
    functionName: "transfer",
    args: [testAccount(4).address, everything],
  });
  const response = await buyWhile(payment, () => sendToToken(buyer, away));
  expect(response.status).toBe(402);
  expect(await response.text()).not.toContain("sold");
});

test("preemption: a payment that an observer submits first is delivered, and charged once", async () => {
  const payment = await sign("/cheap");
  const balanceBefore = await market.chain.balanceOf(payee.address);
  const { from, to, value, validAfter, validBefore, nonce } = payment.authorization as Record<string, Hex>;
  const { r, s, yParity } = parseSignature(payment.signature);
  const args = [
    from,
    to,
    BigInt(value ?? 0),
    BigInt(validAfter ?? 0),
    BigInt(validBefore ?? 0),
    nonce,
    27 + yParity,
    r,
    s,
  ];
  const data = encodeFunctionData({ abi: tokenAbi, functionName: "transferWithAuthorization", args: args as never });
  let stolen: Hex = "0x";
  const response = await buyWhile(payment, async () => {
    stolen = await sendToToken(testAccount(9), data);
  });
  expect([response.status, (await market.chain.balanceOf(payee.address)) - balanceBefore]).toEqual([200, 10_000n]);
  const { transaction } = decodePaymentResponseHeader(response.headers.get("PAYMENT-RESPONSE") ?? "");
  expect(transaction).toBe(stolen);
});

test("replay: forty copies of one payment at once get one response, and one transfer", async () => {
  const payment = await sign("/cheap");
  const balanceBefore = await market.chain.balanceOf(payee.address);
  const copies = await Promise.all(Array.from({ length: 40 }, () => payment.send()));
  expect(copies.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(copies.every(({ status }) => [200, 402, 409].includes(status))).toBe(true);
  expect(market.upstream.hits()).toBe(1);
  expect((await market.chain.balanceOf(payee.address)) - balanceBefore).toBe(10_000n);
});

test("cached paid answers: a shared cache in front stores neither response nor offer", async () => {
  const [port = 0] = await findFreePorts(1);
  const place = join(folder, "nginx");
  mkdirSync(join(place, "cache"), { recursive: true });
  // nginx's workers run as another user.
  chmodSync(folder, 0o755);
  chmodSync(join(place, "cache"), 0o777);
  const cache = `proxy_cache_path ${place}/cache keys_zone=shared:1m;
    server { listen 127.0.0.1:${port}; location / { proxy_pass ${shopUrl}; proxy_cache shared; proxy_cache_key $request_uri;
      proxy_cache_valid any 1m; add_header X-Cache $upstream_cache_status always; } }`;
  await using proxy = await startNginx(place, port, cache);
  market.upstream.behave("data", { "Cache-Control": "public, s-maxage=600" });
  const base = new URL(proxy.url).origin;
  const payment = await sign("/cheap");
  expect((await payment.send("/cheap", base)).status).toBe(200);
  const next = await fetch(`${base}/cheap`);
  expect([next.status, next.headers.get("X-Cache")]).toEqual([402, "MISS"]);
  expect((await fetch(`${base}/cheap`)).headers.get("X-Cache")).toBe("MISS");
});

test("cross-resource substitution: a payment buys only its first request", async () => {
  const cheap = await sign("/cheap");
  expect((await cheap.send("/dear")).status).toBe(402);
  expect((await cheap.send()).status).toBe(200);
  expect((await cheap.send("/twin")).status, "another route of the same price").toBe(409);
  expect((await cheap.send("/cheap?page=2")).status, "another query").toBe(409);
});

test("duplicate-settlement race: only one of two sellers gets success for the same payment", async () => {
  const payment = await sign("/cheap");
  await using other = await market.openOwnShop();
  const responses = await Promise.all([payment.send(), payment.send("/data", other.origin)]);
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
});

test("settlement denial: a buyer that cancels while the upstream works gets 402, and later even before that", async () => {
  const buyer = testAccount(5);
  const signer = testAccount(0).address;
  const count = async () =>
    Number(await market.chain.anvil.request<Hex>("eth_getTransactionCount", [signer, "latest"]));
  const countBefore = await count();
  const payment = await sign("/cheap", buyer);
  const nonce = payment.authorization["nonce"] as Hex;
  const signature = await buyer.account.signTypedData({
    domain: { name: "USDC", version: "2", chainId: 1672, verifyingContract: market.chain.token },
    types: {
      CancelAuthorization: [
        { name: "authorizer", type: "address" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "CancelAuthorization",
    message: { authorizer: buyer.address, nonce },
  });
  const { r, s, yParity } = parseSignature(signature);
  const args = [buyer.address, nonce, 27 + yParity, r, s] as const;
  const cancel = encodeFunctionData({ abi: tokenAbi, functionName: "cancelAuthorization", args });
  const response = await buyWhile(payment, () => sendToToken(buyer, cancel));
  expect([response.status, response.headers.has("PAYMENT-RESPONSE")]).toEqual([402, true]);
  market.upstream.behave("data");
  for (let time = 0; time < 3; time += 1) expect((await (await sign("/cheap", buyer)).send()).status).toBe(402);
  expect(market.upstream.hits()).toBe(0);
  expect((await count()) - countBefore).toBeLessThanOrEqual(1);
});

test("free-riding on verify: five verifications without settlement deliver nothing", async () => {
  const payment = await sign("/cheap", testAccount(6));
  market.upstream.behave("error");
  for (let time = 0; time < 5; time += 1) expect((await payment.send()).status).toBe(502);
  const settled = decodePaymentResponseHeader;
  market.upstream.behave("data");
  const response = await payment.send();
  expect(response.status).toBe(200);
  expect(settled(response.headers.get("PAYMENT-RESPONSE") ?? "").success).toBe(true);
});
