import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startRpcTap, type RpcTap, type TapRule } from "../support/facilitator/rpc-tap.ts";
import { accelerateWaits } from "../support/accelerated-waits.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import {
  openMarket,
  pay,
  payee,
  readRequired,
  readSettlement,
  signOffer,
  type Market,
} from "../support/payments/shop.ts";

const resources = new AsyncDisposableStack();
let market: Market;
let tap: RpcTap;
/** A seller that verifies and settles by itself, on a node that a test can break. */
let shop: Awaited<ReturnType<Market["openOwnShop"]>>;
let url: string;

beforeAll(async () => {
  market = resources.use(await openMarket());
  tap = resources.use(await startRpcTap(market.chain.url));
  // Shortens the ten seconds between two checks of a healthy chain.
  resources.use(accelerateWaits({ waitsMs: [10_000], times: 20 }));
  const env = {
    GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "",
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(3).privateKey,
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL: tap.url,
  };
  shop = resources.use(await market.openOwnShop(env, { constants: { "settlement.rpcTimeoutMs": 500 } }));
  url = `${shop.origin}/data`;
});
afterAll(() => resources.disposeAsync());

beforeEach(() => {
  tap.rule(() => "forward");
  market.upstream.behave("data");
});

/** Node methods that a settlement needs in addition to those for verification. */
const settling = new Set(["eth_sendRawTransaction", "eth_getTransactionCount", "eth_feeHistory", "eth_gasPrice"]);

/** Signs a payment once the server has detected that its node responds again. */
const sign = async () => {
  let response = await fetch(url);
  // A check that started before the node recovered may still fail after this.
  await until("payment is requested", generousMs, async () => (response = await fetch(url)).status === 402);
  return signOffer(readRequired(response).accepts[0]!);
};

const buy = (header: string) => pay(url, header);

describe("a self-settling resource server, while its node is down", () => {
  it.each<[string, TapRule]>([
    ["hangs", "hang"],
    ["breaks connections", "lose_answer"],
    ["answers 502", { status: 502, body: "bad gateway at rpc.internal" }],
    ["rejects", { status: 200, body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"rpc.internal"}}' }],
  ])("returns 503 uncharged if the node %s, and accepts the same payment afterwards", async (_name, rule) => {
    const header = await sign();
    const balanceBefore = await market.chain.balanceOf(payee.address);
    tap.rule(() => rule);
    const response = await buy(header);
    expect([response.status, response.headers.get("Retry-After"), response.headers.get("PAYMENT-REQUIRED")]).toEqual([
      503,
      "3",
      null,
    ]);
    expect(await response.text()).not.toMatch(/internal|unexpected/);
    expect(market.upstream.hits()).toBe(0);
    tap.rule(() => "forward");
    expect((await buy(header)).status).toBe(200);
    expect(shop.output()).not.toContain(testAccount(3).privateKey.slice(2));
    expect((await market.chain.balanceOf(payee.address)) - balanceBefore).toBe(10_000n);
  });

  it("stays in the load balancer as degraded", async () => {
    tap.rule(() => "hang");
    await until("it is degraded", generousMs, async () => {
      const response = await fetch(`${shop.operationsUrl}/readyz`);
      expect(response.status).toBe(200);
      return ((await response.json()) as { status: string }).status === "degraded";
    });
    const unpaidResponse = await fetch(url);
    expect([unpaidResponse.status, unpaidResponse.headers.get("Retry-After")]).toEqual([503, "3"]);
  });

  it("returns 202 if no transaction is accepted, then charges and delivers the same payment once", async () => {
    const header = await sign();
    const balanceBefore = await market.chain.balanceOf(payee.address);
    const gone: TapRule = { status: 502, body: "bad gateway" };
    tap.rule((calls) => (calls.some(({ method }) => settling.has(method)) ? gone : "forward"));
    const first = await buy(header);
    expect([first.status, first.headers.get("PAYMENT-REQUIRED")]).toEqual([202, null]);
    expect(readSettlement(first)).toMatchObject({ success: false, errorReason: "settlement_pending" });
    tap.rule(() => "forward");
    await until("it is delivered", generousMs, async () => (await buy(header)).status === 200);
    expect((await market.chain.balanceOf(payee.address)) - balanceBefore).toBe(10_000n);
    expect(market.upstream.hits()).toBe(1);
  });
});
