import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from "@x402/core/http";
import type { SettleResponse } from "@x402/core/types";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createApp } from "#daemon/http/app.ts";
import { createLog } from "#daemon/log/log.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { allowOtherOrigins, createSellingPort, type NodeBindings } from "./selling-port.ts";
import type { Route } from "./routes/route.ts";
import { createFacilitationStub, pendingResponse, settledResponse } from "./testing/facilitation-stub.ts";
import { offer, createPayload, route } from "./testing/payments.ts";
import { openTestSelling } from "./testing/test-selling.ts";
import type { UpstreamResult } from "./upstream/upstream.ts";

const log = createLog({ service: "test", level: "silent" });
const posted: Route = { ...route, key: "POST /data", method: "POST" };

/** A server that sells the current `routes`. */
async function openShop() {
  const resources = new AsyncDisposableStack();
  const routes = new Map<string, Route>();
  const facilitation = createFacilitationStub();
  const begun = vi.fn();
  const find = (method: string, path: string) => {
    begun();
    const named = routes.get(`${method} ${path}`);
    return named && { route: named, taken: () => named.accepts };
  };
  const upstream: { failure?: UpstreamResult } = {};
  const onWork = () => {
    facilitation.asked.push("work");
    return upstream.failure;
  };
  const { serveSold, ...selling } = resources.use(await openTestSelling({ find }, { facilitation, onWork }));
  const { registry } = selling;
  const app = createApp({ bodyLimitBytes: 65_536, crossOrigin: allowOtherOrigins(find) }, { log, metrics: registry });
  app.get("/health", (c) => c.json({ status: "ok" }));
  const port = createSellingPort(app, { find, serveSold, bodyLimitBytes: 65_536, metrics: registry, log });
  const listener = getRequestListener((asked, env) => port.fetch(asked, env as NodeBindings));
  const { url } = resources.use(
    await listenLocally(createServer((incoming, outgoing) => void listener(incoming, outgoing))),
  );
  return { ...selling, url, routes, facilitation, upstream, begun, resources };
}

let shop: Awaited<ReturnType<typeof openShop>>;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(() => shop.resources.disposeAsync());

const newPayment = () => encodePaymentSignatureHeader(createPayload());
const pay = (path: string, payment: string, init: RequestInit = {}) =>
  fetch(`${shop.url}${path}`, { ...init, headers: { "PAYMENT-SIGNATURE": payment } });
const settlementOf = (answer: Response): SettleResponse =>
  decodePaymentResponseHeader(answer.headers.get("PAYMENT-RESPONSE") ?? "");

describe("a removed route", () => {
  const payment = newPayment();
  beforeEach(async () => {
    shop.routes.set(posted.key, posted);
    shop.facilitation.settlements.splice(0, 1, pendingResponse, settledResponse);
    expect((await pay("/data?a=1", payment, { method: "POST", body: "one" })).status).toBe(202);
    shop.routes.clear();
  });

  it("returns a paid response to the same request until the response is evicted", async () => {
    expect((await pay("/other", payment)).status).toBe(404);
    expect((await pay("/data?a=1", payment, { method: "POST", body: "two" })).status).toBe(404);
    const collected = await pay("/data?a=1", payment, { method: "POST", body: "one" });
    expect([collected.status, await collected.text()]).toEqual([200, "sold"]);
    expect(settlementOf(collected)).toMatchObject({ success: true, transaction: settledResponse.transaction });
    expect(await shop.registry.metrics()).toContain(
      'gatehouse_payment_requests_total{route="POST /data",outcome="sold"} 1',
    );
    await expect.poll(shop.payments.count).toBe(0);
    const again = await pay("/data?a=1", payment, { method: "POST", body: "one" });
    expect([again.status, await again.text()]).toEqual([200, "sold"]);
    const metrics = await shop.registry.metrics();
    expect(metrics).toContain('gatehouse_payment_requests_total{route="POST /data",outcome="sold"} 1');
    expect(metrics).toContain('gatehouse_payment_requests_total{route="POST /data",outcome="replayed"} 1');
    await expect.poll(shop.payments.count).toBe(0);
    await shop.ledger.forgetResponses("delivered");
    expect((await pay("/data?a=1", payment, { method: "POST", body: "one" })).status).toBe(404);
    expect(shop.facilitation.asked).toEqual(["verify", "work", "settle", "settle"]);
  });

  it("returns 404, with a settlement that was rejected in the meantime", async () => {
    const rejection: SettleResponse = { ...pendingResponse, errorReason: "insufficient_funds", transaction: "" };
    shop.facilitation.settlements.splice(0, 1, rejection);
    const rejected = await pay("/data?a=1", payment, { method: "POST", body: "one" });
    expect(rejected.status).toBe(404);
    expect(settlementOf(rejected)).toMatchObject({ success: false, errorReason: "insufficient_funds" });
  });

  it("returns 404 without a payment, and for a malformed or unused payment", async () => {
    const answers = [await fetch(`${shop.url}/data`, { method: "POST" }), await pay("/data", "no payment")];
    for (const answer of [...answers, await pay("/data?a=1", newPayment(), { method: "POST", body: "one" })]) {
      expect(answer.status).toBe(404);
      expect([answer.headers.get("PAYMENT-REQUIRED"), answer.headers.get("PAYMENT-RESPONSE")]).toEqual([null, null]);
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
    }
    expect(shop.facilitation.asked).toEqual(["verify", "work", "settle"]);
  });
});

/** Sends a paid request whose body ends only after `change`. */
async function trickle(payment: string, change: () => void): Promise<IncomingMessage> {
  shop.begun.mockClear();
  const headers = { "PAYMENT-SIGNATURE": payment, "Content-Length": "3" };
  const sent = request(`${shop.url}/data`, { method: "POST", headers });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.write("o");
  await expect.poll(() => shop.begun.mock.calls.length).toBeGreaterThan(0);
  // In this event loop tick, the server does everything that precedes the body.
  await new Promise((resolve) => setImmediate(resolve));
  change();
  sent.end("ne");
  const [answer] = await answered;
  answer.resume();
  return answer;
}

describe("a request with a slow body", () => {
  it("is checked against the offers at the end of its body", async () => {
    shop.routes.set(posted.key, posted);
    const dearer = { ...offer, amount: "50000000", payTo: `0x${"02".repeat(20)}` };
    const answer = await trickle(newPayment(), () => shop.routes.set(posted.key, { ...posted, accepts: [dearer] }));
    expect(answer.statusCode).toBe(402);
    expect(decodePaymentRequiredHeader(String(answer.headers["payment-required"])).accepts).toEqual([dearer]);
    expect(shop.facilitation.asked).toEqual([]);
  });

  it("gets 404 if its route was removed in the meantime", async () => {
    shop.routes.set(posted.key, posted);
    const answer = await trickle(newPayment(), () => shop.routes.clear());
    expect([answer.statusCode, shop.facilitation.asked]).toEqual([404, []]);
  });

  it("gets its paid response even if its offer was removed in the meantime", async () => {
    shop.routes.set(posted.key, posted);
    shop.facilitation.settlements.splice(0, 1, pendingResponse, settledResponse);
    const payment = newPayment();
    expect((await pay("/data", payment, { method: "POST", body: "one" })).status).toBe(202);
    const answer = await trickle(payment, () => shop.routes.set(posted.key, { ...posted, accepts: [] }));
    expect(answer.statusCode).toBe(200);
  });
});

/** Starts a paid request whose body never ends, and returns the response. */
async function answerToUnread(path: string, payment: string, framing: Record<string, string>, part = 60_000) {
  const sent = request(`${shop.url}${path}`, { method: "POST", headers: { "PAYMENT-SIGNATURE": payment, ...framing } });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.on("error", () => undefined);
  sent.write(Buffer.alloc(part));
  const [answer] = await answered;
  sent.destroy();
  return answer;
}

it("names for stock buyers the highest price in each token that a route takes", async () => {
  const other = { ...offer, network: "eip155:8453", asset: `0x${"c0".repeat(20)}`, amount: "20000" } as const;
  const dearer = { ...other, asset: `0x${"C0".repeat(20)}`, amount: "30000" } as const;
  shop.routes.set(route.key, { ...route, accepts: [offer, other, dearer] });
  const answer = await fetch(`${shop.url}/data`);
  const { spendControls } = (await answer.json()) as { spendControls: { typescript: string; python: string } };
  const [ours, theirs] = [offer, dearer].map(({ network, asset, amount }) => ({
    network,
    asset,
    maxAmountPerPayment: amount,
  }));
  expect(spendControls.typescript).toBe(
    `client.setSpendControls(${JSON.stringify({ allowedAssets: [ours, theirs] })});`,
  );
  expect(spendControls.python).toContain(`"max_amount_per_payment":"30000"`);
});

it("returns 503 instead of 402 while no payment can be settled", async () => {
  shop.routes.set(route.key, route);
  expect((await fetch(`${shop.url}/data`)).status).toBe(402);
  shop.facilitation.isSettlingPaused = () => true;
  const answer = await fetch(`${shop.url}/data`);
  expect([answer.status, answer.headers.get("Retry-After"), answer.headers.get("PAYMENT-REQUIRED")]).toEqual([
    503,
    "3",
    null,
  ]);
  expect((await fetch(`${shop.url}/nothing`)).status).toBe(404);
});

it("returns 503 instead of 402 after three connections to the upstream failed, until it answers a payment", async () => {
  shop.routes.set(route.key, route);
  const unpaid = async () => (await fetch(`${shop.url}/data`)).status;
  const failure = { kind: "failed", status: 502, message: "the upstream can't be reached" } as const;
  for (const isUnreachable of [false, false, false, true]) {
    expect(await unpaid()).toBe(402);
    shop.upstream.failure = { ...failure, isUnreachable };
    expect((await pay("/data", newPayment())).status).toBe(502);
  }
  const answer = await fetch(`${shop.url}/data`);
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("upstream can't be reached now")]);
  delete shop.upstream.failure;
  expect((await pay("/data", newPayment())).status).toBe(200);
  expect(await unpaid()).toBe(402);
});

it("serves a sold route with the application's headers and metrics", async () => {
  shop.routes.set(route.key, route);
  const ask = async (path: string, payment: Record<string, string> = {}) => {
    const headers = { "X-Request-Id": "r-1", ...payment };
    const [answer] = (await once(request(`${shop.url}${path}`, { headers }).end(), "response")) as [IncomingMessage];
    return [answer.statusCode, answer.headers, await text(answer)] as const;
  };
  const [, { date: _date, "content-length": _length, ...ofApplication }] = await ask("/nothing");
  expect(ofApplication).toMatchObject({ "access-control-allow-origin": "*", "x-request-id": "r-1" });
  const paid = { "PAYMENT-SIGNATURE": newPayment() };
  for (const [payment, expected] of [
    [{}, 402],
    [{ "PAYMENT-SIGNATURE": "no payment" }, 402],
    [paid, 200],
  ] as const) {
    const [status, { "content-type": _type, ...headers }] = await ask("/data?a=1", payment);
    const { "content-type": _ofApplication, "cache-control": _ofMissing, ...common } = ofApplication;
    expect([status, headers]).toMatchObject([expected, common]);
    await expect.poll(shop.payments.count).toBe(0);
  }
  expect((await fetch(`${shop.url}/data`, { method: "HEAD" })).status).toBe(402);
  const count = "gatehouse_http_request_duration_seconds_count";
  const metrics = await shop.registry.metrics();
  expect(metrics).toContain(`${count}{method="GET",route="/data",status="402"} 2`);
  expect(metrics).toContain(`${count}{method="GET",route="/data",status="200"} 1`);
  expect(metrics).toContain(`${count}{method="HEAD",route="/data",status="402"} 1`);
  expect(metrics).toContain(`${count}{method="GET",route="/*",status="404"} 1`);
});

it("serves /health to a request with a payment", async () => {
  const answer = await pay("/health", newPayment());
  expect([answer.status, await answer.json()]).toEqual([200, { status: "ok" }]);
});

it("returns 405 with the allowed methods for a path of its own, with or without a payment", async () => {
  for (const headers of [{}, { "PAYMENT-SIGNATURE": newPayment() }]) {
    const answer = await fetch(`${shop.url}/health`, { method: "POST", headers });
    const seen = [answer.status, answer.headers.get("Allow"), await answer.json()];
    expect(seen).toEqual([405, "GET, HEAD", { error: "this path supports GET, HEAD" }]);
  }
});

it("returns 404 for the path // with a payment", async () => {
  const options = { path: "//", headers: { "PAYMENT-SIGNATURE": newPayment() } };
  const [answer] = (await once(request(shop.url, options).end(), "response")) as [IncomingMessage];
  expect([answer.statusCode, await text(answer)]).toEqual([404, '{"error":"no such route: GET //"}']);
});

it("points from / to the service's page on the admin port", async () => {
  const error = "no such route: GET /; the service's page is on its admin port";
  const answer = await fetch(shop.url);
  expect([answer.status, await answer.json()]).toEqual([404, { error }]);
});

it("returns 413 for a Content-Length over the limit, with and without a payment", async () => {
  shop.routes.set(posted.key, posted);
  for (const headers of [{}, { "PAYMENT-SIGNATURE": newPayment() }]) {
    const answer = await fetch(`${shop.url}/data`, { method: "POST", headers, body: "x".repeat(65_537) });
    expect([answer.status, await answer.json()]).toEqual([413, { error: "the body exceeds 65536 bytes; send less" }]);
  }
});

describe("a request with an unread body", () => {
  const framings = [{ "Content-Length": "65000" }, { "Transfer-Encoding": "chunked" }];

  it("gets 402 or 404 before its body is read if its payment buys nothing", async () => {
    shop.routes.set(posted.key, { ...posted, accepts: [{ ...offer, amount: "20000" }] });
    for (const framing of framings) {
      expect((await answerToUnread("/nothing", newPayment(), framing)).statusCode).toBe(404);
      expect((await answerToUnread("/data", newPayment(), framing)).statusCode).toBe(402);
      expect((await answerToUnread("/data", "no payment", framing)).statusCode).toBe(402);
    }
    expect(shop.memory.bytes).toBe(0);
  });

  it("gets 503 while incomplete bodies fill its address's memory limit", async () => {
    shop.routes.set(posted.key, posted);
    const headers = { "PAYMENT-SIGNATURE": newPayment(), "Content-Length": "65000" };
    const slow = request(`${shop.url}/data`, { method: "POST", headers });
    slow.on("error", () => undefined);
    slow.write(Buffer.alloc(64_000));
    await expect.poll(() => shop.memory.bytes).toBeGreaterThanOrEqual(64_000);
    for (const framing of framings)
      expect((await answerToUnread("/data", newPayment(), framing)).statusCode, JSON.stringify(framing)).toBe(503);
    slow.destroy();
    await expect.poll(() => shop.memory.bytes).toBe(0);
    const sold = await pay("/data", newPayment(), { method: "POST", body: "x".repeat(60_000) });
    expect([sold.status, await sold.text()]).toEqual([200, "sold"]);
    await expect.poll(() => shop.memory.bytes).toBe(0);
  });

  it("gets 413 for chunks over the limit", async () => {
    shop.routes.set(posted.key, posted);
    const answer = await answerToUnread("/data", newPayment(), { "Transfer-Encoding": "chunked" }, 65_537);
    expect(answer.statusCode).toBe(413);
    expect(shop.memory.bytes).toBe(0);
  });
});
