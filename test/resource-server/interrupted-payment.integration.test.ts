import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { payingFetch } from "#client/paying-fetch.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import type { ServiceInProcess } from "../support/service-in-process.ts";
import {
  openMarket,
  findOperationsUrl,
  pay,
  payee,
  payer,
  readSettlement,
  signPaymentFor,
  createTemporaryFolder,
  findUrl,
  type Market,
} from "../support/payments/shop.ts";
import { largeBytes } from "../support/payments/test-upstream.ts";

let market: Market;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let before: bigint;

beforeAll(async () => {
  market = await openMarket();
});
afterAll(() => market?.[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await createTemporaryFolder();
  market.upstream.behave("data");
  market.facilitator.fault(undefined);
  before = await market.chain.balanceOf(payee.address);
});
afterEach(() => folder?.[Symbol.asyncDispose]());

const gain = async () => (await market.chain.balanceOf(payee.address)) - before;

async function metric(shop: Pick<ServiceInProcess, "urls">, line: string): Promise<boolean> {
  return (await (await fetch(`${findOperationsUrl(shop)}/metrics`)).text()).split("\n").includes(line);
}

// The simulator (test/simulator) kills the same code between any two steps, including right before a flush. Here, a real process is killed.
describe("kill -9 of the resource server", () => {
  it("during delivery: a retry with the same payment gets the response without a second charge", async () => {
    const [port = 0] = await findFreePorts(1);
    const fixedPort = { GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: String(port) };
    const shop = await market.openShop(folder.path, fixedPort);
    const url = `${findUrl(shop)}/data`;
    const header = await signPaymentFor(url);
    market.upstream.behave("large");

    const reader = connect(port, "127.0.0.1").pause();
    reader.on("error", () => undefined);
    await once(reader, "connect");
    reader.write(`GET /data HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`);
    await until("the payment is settled", generousMs, () =>
      metric(shop, 'gatehouse_payment_claims{state="settled"} 1'),
    );
    expect(await shop.end("SIGKILL")).toBeNull();
    reader.destroy();

    await using restartedShop = await market.openShopInProcess(folder.path, fixedPort);
    const response = await pay(url, header);
    expect([response.status, (await response.text()).length]).toEqual([200, largeBytes + 2]);
    expect(readSettlement(response)).toMatchObject({ success: true, network: "eip155:1672" });
    expect([market.upstream.hits(), await gain()]).toEqual([1, 10_000n]);
    await until("it is delivered", generousMs, () =>
      metric(restartedShop, 'gatehouse_payment_claims{state="delivered"} 1'),
    );
    const again = await pay(url, header);
    expect([again.status, (await again.text()).length]).toEqual([200, largeBytes + 2]);
    expect([market.upstream.hits(), await gain()]).toEqual([1, 10_000n]);
  });
});

describe("a client that stops reading its response", () => {
  it("is disconnected after the delivery timeout, and gets the response on retry without a second charge", async () => {
    await using shop = await market.openShopInProcess(folder.path, {}, { "payment.deliveryTimeoutMs": 1_000 });
    const { port, host } = new URL(findUrl(shop));
    const url = `${findUrl(shop)}/data`;
    const header = await signPaymentFor(url);
    market.upstream.behave("large");
    const reader = connect(Number(port), "127.0.0.1").pause();
    reader.on("error", () => undefined);
    await once(reader, "connect");
    reader.write(`GET /data HTTP/1.1\r\nHost: ${host}\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`);
    await until("the payment is settled", generousMs, () =>
      metric(shop, 'gatehouse_payment_claims{state="settled"} 1'),
    );
    expect((await pay(url, header)).status).toBe(409);
    let response: Response | undefined;
    await until("the delivery is abandoned", generousMs, async () => {
      response = await pay(url, header);
      return response.status !== 409;
    });
    expect([response?.status, (await response?.text())?.length]).toEqual([200, largeBytes + 2]);
    reader.destroy();
    expect([market.upstream.hits(), await gain()]).toEqual([1, 10_000n]);
  });
});

describe("payingFetch", () => {
  it("gets its paid response from a server that was killed and restarted", async () => {
    const [port = 0] = await findFreePorts(1);
    const fixedPort = { GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: String(port) };
    const shop = await market.openShop(folder.path, fixedPort);
    const events: string[] = [];
    const fetchPaid = payingFetch(
      {
        account: payer.account,
        assets: [{ network: "eip155:1672", address: market.chain.token, decimals: 6 }],
        maxPerPayment: "$0.01",
        maxTotal: "$0.01",
      },
      { onEvent: ({ type }) => events.push(type) },
    );
    const settledBefore = market.facilitator.settled();
    market.facilitator.fault({ on: "settle", loseAnswer: true });
    const purchase = fetchPaid(`${findUrl(shop)}/data`);
    await until("the facilitator has settled", generousMs, () => market.facilitator.settled() > settledBefore);
    await shop.end("SIGKILL");
    market.facilitator.fault(undefined);
    await using restarted = await market.openShopInProcess(folder.path, fixedPort);
    expect(findUrl(restarted)).toBe(findUrl(shop));
    expect([(await purchase).status, market.upstream.hits(), await gain()]).toEqual([200, 1, 10_000n]);
    expect(events).toContain("payment-repeated");
  });
});

it("requests payment, responds to a payment with 503 and stays unready if its facilitator is unreachable from the start", async () => {
  const [nowhere = 0] = await findFreePorts(1);
  const env = { GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: `http://127.0.0.1:${nowhere}` };
  await using healthy = await market.openOwnShop();
  const payment = await signPaymentFor(`${healthy.origin}/data`);
  await using shop = await market.openShopInProcess(folder.path, env);
  const url = `${findUrl(shop)}/data`;
  const unpaid = await fetch(url);
  expect([unpaid.status, unpaid.headers.get("PAYMENT-REQUIRED")]).toEqual([402, expect.any(String)]);
  const response = await pay(url, payment);
  expect([response.status, response.headers.get("Retry-After"), await response.text()]).toEqual([
    503,
    "3",
    '{"error":"payments can\'t be verified now; you were not charged, resend the same payment."}',
  ]);
  const isUnready = async () => (await fetch(`${findOperationsUrl(shop)}/readyz`)).status === 503;
  await until("it is not ready, so that a rollout with a wrong URL does not continue", generousMs, isUnready);
  expect([market.upstream.hits(), await gain()]).toEqual([0, 0n]);
});

describe("a faulty facilitator", () => {
  const resources = new AsyncDisposableStack();
  let shop: ServiceInProcess;
  beforeAll(async () => {
    const state = resources.use(await createTemporaryFolder());
    shop = resources.use(await market.openShopInProcess(state.path));
    const isReady = async () => (await fetch(`${findOperationsUrl(shop)}/readyz`)).status === 200;
    await until("it has checked the healthy facilitator", generousMs, isReady);
  });
  afterAll(() => resources.disposeAsync());

  it.each([
    ["returns an error", 500, '{"error":"ECONNREFUSED rpc.internal:8545"}'],
    ["is overloaded", 503, '{"error":"64 settlements under way at rpc.internal"}'],
    ["reports too many requests", 429, '{"error":"quota of rpc.internal"}'],
    ["rejects the API key", 401, '{"error":"unknown key for rpc.internal"}'],
    ["reports its fault as a verdict", 200, '{"isValid":false,"invalidReason":"unexpected_verify_error"}'],
    ["is not a facilitator", 200, "<html>rpc.internal</html>"],
  ])(
    "%s on /verify: returns 503 instead of 402, and accepts the same payment afterwards",
    async (_name, status, body) => {
      const url = `${findUrl(shop)}/data`;
      const header = await signPaymentFor(url);
      market.facilitator.fault({ on: "verify", answer: { status, body } });
      const response = await pay(url, header);
      expect([response.status, response.headers.get("Retry-After"), market.upstream.hits()]).toEqual([503, "3", 0]);
      expect(response.headers.get("PAYMENT-REQUIRED")).toBeNull();
      expect(await response.text(), "the facilitator's message is only logged").not.toMatch(/internal|unexpected/);
      market.facilitator.fault(undefined);
      expect((await pay(url, header)).status).toBe(200);
      expect(await gain()).toBe(10_000n);
    },
  );

  it("loses the response to /settle: returns 202, then charges and delivers the same payment once", async () => {
    const url = `${findUrl(shop)}/data`;
    const header = await signPaymentFor(url);
    market.facilitator.fault({ on: "settle", loseAnswer: true });
    const pending = await pay(url, header);
    expect([pending.status, pending.headers.get("PAYMENT-REQUIRED")]).toEqual([202, null]);
    expect(readSettlement(pending)).toMatchObject({ success: false, errorReason: "settlement_pending" });
    market.facilitator.fault(undefined);
    // The status is 409 while the resource server itself resumes the settlement.
    const response = await until("it is delivered", generousMs, async () => {
      const again = await pay(url, header);
      return again.status !== 409 && again;
    });
    expect(response.status).toBe(200);
    expect(readSettlement(response).success).toBe(true);
    expect([market.upstream.hits(), await gain()]).toEqual([1, 10_000n]);
  });

  it("returns an error on /settle: returns 202, and resumes the settlement without the client", async () => {
    const url = `${findUrl(shop)}/data`;
    const header = await signPaymentFor(url);
    market.facilitator.fault({ on: "settle", answer: { status: 500, body: '{"error":"rpc down"}' } });
    const pending = await pay(url, header);
    expect([pending.status, pending.headers.get("Retry-After")]).toEqual([202, "1"]);
    market.facilitator.fault(undefined);
    await until("it is settled", generousMs, () => metric(shop, 'gatehouse_payment_claims{state="settled"} 1'));
    expect((await pay(url, header)).status).toBe(200);
    expect(await gain()).toBe(10_000n);
  });
});
