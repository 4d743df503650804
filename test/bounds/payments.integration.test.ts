import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildFacilitatorEnvironment } from "../support/facilitator/running-facilitator.ts";
import { startRpcTap, type RpcTap } from "../support/facilitator/rpc-tap.ts";
import { signPayment, type PaymentBody } from "../support/facilitator/signed-payment.ts";
import { startFacilitatorProxy, type FacilitatorProxy } from "../resource-server/facilitator-proxy.ts";
import { payee, payer, signOffer } from "../support/payments/shop.ts";
import { startUpstream, type TestUpstream } from "../support/payments/test-upstream.ts";
import {
  startPaymentChain,
  testAccount,
  type PaymentChain,
  type TestAccount,
} from "../support/payments/payment-chain.ts";
import { isLong } from "../support/run-size.ts";
import { pause } from "#daemon/time.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { ask, openMany, openRaw, type RawClient } from "../support/gateway/raw-call.ts";
import { startExampleService, type ExampleService } from "./example-service.ts";

/** Max settlements and payments in flight. A short run uses fewer, because each settlement takes some milliseconds to sign. */
const most = isLong ? { settlements: 1_000, payments: 256 } : { settlements: 20, payments: 20 };
/** Deadlines in ms: until all of them are in flight, and for the whole test. */
const [manyMs, testMs] = isLong ? [120_000, 290_000] : [generousMs, 120_000];
/** Number of concurrent requests where sequential ones would take long. */

const resources = new AsyncDisposableStack();
let folder: string;
let chain: PaymentChain;
let tap: RpcTap;
let facilitator: ExampleService;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gatehouse-bounds-"));
  resources.defer(() => rmSync(folder, { recursive: true }));
  chain = resources.use(await startPaymentChain({ blockTimeSeconds: 3_600 }));
  tap = resources.use(await startRpcTap(chain.url));
  const env = buildFacilitatorEnvironment({
    rpcUrl: tap.url,
    token: chain.token,
    ledgerPath: join(folder, "facilitator.sqlite"),
    env: {
      GATEHOUSE_FACILITATOR_SETTLEMENT_IN_FLIGHT_MAX: String(most.settlements),
      GATEHOUSE_FACILITATOR_SETTLEMENT_RECEIPT_TIMEOUT_MS: "85000",
      GATEHOUSE_FACILITATOR_SETTLEMENT_BUMP_AFTER_MS: "600000",
    },
  });
  facilitator = resources.use(await startExampleService("facilitator", env));
  url = facilitator.urls["facilitator"] ?? "";
});
afterAll(() => resources.disposeAsync());

async function signPayments(count: number): Promise<readonly PaymentBody[]> {
  const payments: PaymentBody[] = [];
  for (let made = 0; made < count; made += 1) payments.push(await signPayment(chain.token));
  return payments;
}

const post = (path: string, body: unknown, localAddress = "127.0.0.1") =>
  ask(`${url}${path}`, typeof body === "string" ? body : JSON.stringify(body), { isAlone: true, localAddress });
const untilUnderWay = (count: number) =>
  until(`${count} settlements are in flight`, manyMs, async () => {
    const metrics = await (await fetch(`${facilitator.urls["facilitator-operations"]}/metrics`)).text();
    return metrics.includes(`gatehouse_facilitator_settlements_pending{network="eip155:1672"} ${count}\n`);
  });
const mine = async (settling: readonly Promise<unknown>[]) => {
  let isDone = false;
  const all = Promise.all(settling).finally(() => (isDone = true));
  await until("all are settled", manyMs, async () => {
    await chain.anvil.mine();
    return isDone;
  });
  return all;
};

const isSimulation = ({ method }: Readonly<{ method: string }>) =>
  method === "eth_estimateGas" || method === "eth_call";

const connections = async () => {
  const metrics = await (await fetch(`${facilitator.urls["facilitator-operations"]}/metrics`)).text();
  return Number(/gatehouse_connections\{listener="facilitator"\} (\d+)/.exec(metrics)?.[1]);
};
/** Opens connections from one address, all with incomplete requests. */
const openUnfinished = (count: number) =>
  openMany(count, () => openRaw(url, "POST /verify HTTP/1.1\r\nHost: localhost\r\n", { localAddress: "127.0.0.2" }));

describe("a facilitator in a small process", () => {
  afterEach(async () => {
    const { status, text } = await post("/verify", await signPayment(chain.token));
    expect([status, text]).toEqual([200, expect.stringContaining('"isValid":true')]);
    facilitator.expectWell();
  });

  it(
    "limits the concurrent settlements of a facilitator",
    async () => {
      const payments = await signPayments(most.settlements);
      const pendingResponses = payments.map((payment, at) => post("/settle", payment, `127.1.${at >> 8}.${at & 255}`));
      await untilUnderWay(most.settlements);
      const rejectedResponse = await post("/settle", await signPayment(chain.token));
      expect([rejectedResponse.status, rejectedResponse.text]).toEqual([
        503,
        expect.stringContaining(
          `${most.settlements} settlements are in flight, which is the limit; try again in a moment`,
        ),
      ]);
      const settled = (await mine(pendingResponses)) as Awaited<ReturnType<typeof post>>[];
      expect(settled.every(({ text }) => text.includes('"success":true'))).toBe(true);
    },
    testMs,
  );

  it(
    "limits the concurrent settlements per seller of a facilitator",
    async () => {
      const share = Math.floor((3 * most.settlements) / 4) + 1;
      const pendingResponses = (await signPayments(share)).map((payment) => post("/settle", payment));
      await untilUnderWay(share);
      const rejectedResponse = await post("/settle", await signPayment(chain.token));
      expect([rejectedResponse.status, rejectedResponse.headers["retry-after"], rejectedResponse.text]).toEqual([
        503,
        "1",
        expect.stringContaining("too many of your settlements are in flight; try again in a moment"),
      ]);
      const other = post("/settle", await signPayment(chain.token), "127.0.0.2");
      await untilUnderWay(share + 1);
      const settled = (await mine([...pendingResponses, other])) as Awaited<ReturnType<typeof post>>[];
      expect(settled.every(({ text }) => text.includes('"success":true'))).toBe(true);
      // Finished settlements no longer count.
      const again = post("/settle", await signPayment(chain.token));
      await untilUnderWay(1);
      await mine([again]);
    },
    testMs,
  );

  it("limits the connections per address to a facilitator or resource server", async () => {
    using first = openUnfinished(1_000);
    await until("they are connected", generousMs, async () => (await connections()) >= 1_000);
    using more = openUnfinished(60);
    await until("one of them is rejected", generousMs, () =>
      [...first.clients, ...more.clients].some(({ received }) => received().startsWith("HTTP/1.1 429 ")),
    );
  });
});

describe("a facilitator in front of a hanging node", () => {
  const keys = { greedy: "greedy-seller-key", second: "second-seller-key", third: "third-seller-key" };
  let asked: ExampleService;
  let node: RpcTap;
  const buildEnvironment = (name: string, env: Readonly<Record<string, string>> = {}) =>
    buildFacilitatorEnvironment({
      rpcUrl: node.url,
      token: chain.token,
      ledgerPath: join(folder, `${name}.sqlite`),
      env: { GATEHOUSE_FACILITATOR_API_KEYS: Object.values(keys).join("\n"), ...env },
    });
  const verify = (seller: keyof typeof keys, payment: PaymentBody, { urls } = asked) =>
    ask(`${urls["facilitator"]}/verify`, JSON.stringify(payment), {
      headers: { Authorization: `Bearer ${keys[seller]}` },
      isAlone: true,
    });
  /** Starts verifications; `statuses` returns the statuses received so far. */
  const verifyMany = (seller: keyof typeof keys, count: number, payment: PaymentBody) => {
    const statuses: (number | undefined)[] = [];
    const all = Array.from({ length: count }, async () => {
      const response = await verify(seller, payment);
      statuses.push(response.status);
      return response;
    });
    return { all, statuses };
  };
  /** Makes the node respond again, after all calls that it withheld have failed. */
  const recover = () => {
    node.rule(() => "forward");
    node.release();
  };

  beforeAll(async () => {
    node = resources.use(await startRpcTap(chain.url));
    const env = buildEnvironment("before-a-node-that-hangs");
    const constants = { "verification.inFlightMax": 20 };
    asked = resources.use(await startExampleService("facilitator", env, { constants }));
  });
  afterEach(async () => {
    recover();
    const { status, text } = await verify("third", await signPayment(chain.token));
    expect([status, text]).toEqual([200, expect.stringContaining('"isValid":true')]);
    asked.expectWell();
  });

  it("limits the concurrent verifications per seller of a facilitator", async () => {
    const payment = await signPayment(chain.token);
    node.rule(() => "hang");
    const flood = verifyMany("greedy", 200, payment);
    const rejected = await Promise.race(flood.all);
    expect([rejected.status, rejected.headers["retry-after"], rejected.text]).toEqual([
      429,
      "1",
      expect.stringContaining("too many of your payments are being verified; retry in a few seconds"),
    ]);
    await until("all but 16 are rejected", generousMs, () => flood.statuses.length >= 184);
    expect(new Set(flood.statuses)).toEqual(new Set([429]));
    recover();
    expect((await Promise.all(flood.all)).filter(({ status }) => status !== 429)).toHaveLength(16);
  });

  it("settles while another seller's verifications hang", async () => {
    const payment = await signPayment(chain.token);
    expect((await verify("second", payment)).text).toContain('"isValid":true');
    node.rule((calls) => (calls.some(isSimulation) ? "hang" : "forward"));
    const flood = verifyMany("greedy", 16, await signPayment(chain.token));
    const headers = { Authorization: `Bearer ${keys.second}` };
    const pendingResponse = ask(`${asked.urls["facilitator"]}/settle`, JSON.stringify(payment), {
      headers,
      isAlone: true,
    });
    await mine([pendingResponse]);
    expect([(await pendingResponse).text, flood.statuses]).toEqual([expect.stringContaining('"success":true'), []]);
    recover();
    await Promise.all(flood.all);
  });

  it("frees the slots of disconnected clients at once", async () => {
    const payment = await signPayment(chain.token);
    const body = JSON.stringify(payment);
    const head = `POST /verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${keys.greedy}`;
    node.rule(() => "hang");
    const probes: ReturnType<typeof verify>[] = [];
    {
      using _gone = openMany(16, () =>
        openRaw(asked.urls["facilitator"] ?? "", `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
      );
      await until("all of the seller's slots are taken", generousMs, async () => {
        const probe = verify("greedy", payment);
        probes.push(probe);
        return (await Promise.race([probe, pause(100)]))?.status === 429;
      });
    }
    // Without this, the calls would hang for up to 30 seconds.
    node.rule(() => "forward");
    await until("a slot is free", generousMs, async () => (await verify("greedy", payment)).status === 200);
    node.release();
    await Promise.all(probes);
  });

  it("limits the response size of a facilitator's node", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 0, result: "0".repeat(33_554_432) });
    node.rule((calls) => (calls.some(isSimulation) ? { status: 200, body } : "forward"));
    const payment = await signPayment(chain.token);
    for (let made = 0; made < 3; made += 1) expect((await verify("second", payment)).status).toBe(500);
  });

  it("limits the concurrent verifications of a facilitator", async () => {
    const payment = await signPayment(chain.token);
    node.rule(() => "hang");
    const flood = verifyMany("greedy", 40, payment);
    await until("all but 16 are rejected", generousMs, () => flood.statuses.length >= 24);
    // The first seller left four slots, all of which the second one may use.
    const second = verifyMany("second", 10, payment);
    const rejected = await Promise.race(second.all);
    expect([rejected.status, rejected.headers["retry-after"], rejected.text]).toEqual([
      503,
      "1",
      expect.stringContaining("20 payments are being verified, which is the limit; retry in a few seconds"),
    ]);
    await until("all but 4 are rejected", generousMs, () => second.statuses.length >= 6);
    expect([flood.statuses.length, second.statuses.length]).toEqual([24, 6]);
    recover();
    await Promise.all([...flood.all, ...second.all]);
  });
});

const routesPath = () => join(folder, "routes.json5");
const sign = (accepted: PaymentRequirements, holder: TestAccount = payer) => signOffer(accepted, holder.account);

const statusOf = (client: RawClient) =>
  until("it has a response", manyMs, () => /^HTTP\/1.1 (\d+)/.exec(client.received())?.[1]);

const accepts = (prices: readonly string[]) =>
  prices.map((price) => ({ scheme: "exact", price, network: "eip155:1672" }));

describe("a resource server in a small process", () => {
  let upstream: TestUpstream;
  let shop: ExampleService;
  let shopUrl: string;
  let proxy: FacilitatorProxy;
  const routes = (prices: readonly string[]) =>
    JSON.stringify({
      "GET /data": { accepts: accepts(prices), upstream: `${upstream.url}/data` },
      "POST /info": { accepts: accepts(["0.01"]), upstream: `${upstream.url}/info` },
    });
  const offers = async () => {
    const response = await ask(`${shopUrl}/info`, "{}");
    return { ...response, required: decodePaymentRequiredHeader(String(response.headers["payment-required"] ?? "")) };
  };
  const offersNow = async () => {
    const response = await fetch(`${shopUrl}/data`);
    return decodePaymentRequiredHeader(response.headers.get("payment-required") ?? "").accepts as PaymentRequirements[];
  };
  const buy = async (payment: string) => fetch(`${shopUrl}/data`, { headers: { "PAYMENT-SIGNATURE": payment } });

  beforeAll(async () => {
    upstream = resources.use(await startUpstream());
    proxy = resources.use(await startFacilitatorProxy(url));
    writeFileSync(routesPath(), routes(["0.01"]));
    shop = resources.use(
      await startExampleService(
        "resource-server",
        {
          GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: "0",
          GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "0",
          GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath(),
          GATEHOUSE_RESOURCE_SERVER_PAY_TO: payee.address,
          GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: chain.token,
          GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: proxy.url,
          GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: join(folder, "claims.sqlite"),
          GATEHOUSE_RESOURCE_SERVER_PAYMENT_IN_FLIGHT_MAX: String(most.payments),
          GATEHOUSE_RESOURCE_SERVER_UPSTREAM_TIMEOUT_MS: "60000",
        },
        { constants: { "facilitator.verifyTimeoutMs": 2_000, "payment.formerOfferMs": 600_000 } },
      ),
    );
    shopUrl = shop.urls["resource-server"] ?? "";
  });
  afterEach(async () => {
    upstream.behave("data");
    expect((await offers()).status).toBe(402);
    shop.expectWell();
  });

  const buyFrom = (localAddress: string, payment: string) =>
    openRaw(shopUrl, `GET /data HTTP/1.1\r\nHost: localhost\r\nPAYMENT-SIGNATURE: ${payment}\r\n\r\n`, {
      localAddress,
    });

  it("limits the unverified payments per address", async () => {
    const [offer] = (await offersNow()) as [PaymentRequirements];
    proxy.fault({ on: "verify", hangs: (body) => !body.includes(payer.address) });
    const worthless = await Promise.all(
      Array.from({ length: 2 * most.payments }, (_, at) => sign(offer, testAccount(5_000 + at))),
    );
    using flood = openMany(worthless.length, (at) => buyFrom("127.0.2.1", worthless[at] ?? ""));
    await until("one is rejected", generousMs, () => flood.clients.some(({ received }) => received() !== ""));
    const pendingPurchase = buy(await sign(offer));
    await mine([pendingPurchase]);
    expect((await pendingPurchase).status).toBe(200);
    const rejected = flood.clients.filter(({ received }) => received().startsWith("HTTP/1.1 503 "));
    expect(rejected.length).toBeGreaterThan(most.payments);
    expect(rejected.every(({ received }) => /^retry-after: \d/im.test(received()))).toBe(true);
    await until("none is pending any more", generousMs, () => flood.clients.every(({ received }) => received() !== ""));
    proxy.fault(undefined);
  });

  it(
    "limits the concurrent payments at a resource server",
    async () => {
      const [offer] = (await offersNow()) as [PaymentRequirements];
      using clients = new DisposableStack();
      upstream.behave("hang");
      let taken = 0;
      const fill = async (address: string) => {
        for (;;) {
          const client = clients.use(buyFrom(address, await sign(offer)));
          await until("it is accepted or rejected", manyMs, () => upstream.hits() > taken || client.received() !== "");
          if (upstream.hits() === taken) return client;
          taken = upstream.hits();
        }
      };
      await fill("127.0.0.2");
      const share = taken;
      expect(share).toBeLessThan(0.82 * most.payments);
      for (let other = 3; taken < most.payments; other += 1) await fill(`127.0.0.${other}`);
      const rejected = await fill("127.0.1.1");
      expect([taken, share]).toEqual([most.payments, Math.ceil(0.75 * most.payments + 0.5)]);
      expect(await statusOf(rejected)).toBe("503");
      expect(rejected.received()).toContain("too many payments are being processed; you were not charged, retry.");
      expect(rejected.received()).toMatch(/^retry-after: \d/im);
      expect((await offers()).status).toBe(402);
      upstream.breakOff();
    },
    testMs,
  );
});
