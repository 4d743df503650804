import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from "@x402/core/http";
import type { SettleResponse } from "@x402/core/types";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createApp } from "#daemon/http/app.ts";
import { findClientAddress } from "#daemon/http/proxies/client-address.ts";
import { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { FairSlots } from "#daemon/fair-places.ts";
import { createLog } from "#daemon/log/log.ts";
import { createPaymentOwners } from "./claims/payment-owners.ts";
import { createSelling } from "./http.ts";
import { allowOtherOrigins } from "./other-requests.ts";
import { addPaidRoutes, servePast } from "./selling-port.ts";
import type { NodeBindings } from "./selling-request.ts";
import type { Route } from "./routes/route.ts";
import { createClaimSearch } from "./sale/guarded-sale.ts";
import { createPaymentMetrics } from "./sale/payment-metrics.ts";
import { sell } from "./sale/sale.ts";
import { openTestLedger } from "./testing/claim-store.ts";
import { createFacilitationStub, pendingResponse, settledResponse } from "./testing/facilitation-stub.ts";
import { offer, createPayload, paymentsClock, route } from "./testing/payments.ts";

const log = createLog({ service: "test", level: "silent" });
const posted: Route = { ...route, key: "POST /data", method: "POST" };

/** A server that sells what `routes` holds at the time. */
async function openShop() {
  const resources = new AsyncDisposableStack();
  const routes = new Map<string, Route>();
  const facilitation = createFacilitationStub();
  const ledger = resources.use(await openTestLedger());
  const owners = createPaymentOwners();
  const unverified = new FairSlots(10);
  const registry = new Registry();
  const app = createApp({ bodyLimitBytes: 65_536, crossOrigin: allowOtherOrigins }, { log, metrics: registry });
  const begun = vi.fn();
  const memory = new MemoryBudget({ totalBytes: 100_000, addressBytes: 100_000, connectionBytes: 100_000 });
  const live = {
    find: (method: string, path: string) => {
      begun();
      return routes.get(`${method} ${path}`);
    },
    taken: ({ accepts }: Route) => accepts,
  };
  const serveSold = createSelling(
    {
      routes: live,
      publicUrl: undefined,
      bodyLimitBytes: 65_536,
      deliveryTimeoutMs: 20_000,
      client: findClientAddress({ trustedProxies: [], forwardedHeader: "x-forwarded-for", forwardedHops: 1 }),
    },
    {
      settlesNothing: () => facilitation.settlesNothing(),
      findClaim: createClaimSearch(ledger),
      sell: (order) =>
        sell(order, {
          ledger,
          facilitation,
          owners,
          onSettled: () => undefined,
          unverified,
          clock: paymentsClock,
          responses: { hasRoom: () => true },
        }),
      work: async () => {
        facilitation.asked.push("work");
        return { kind: "resource", response: { status: 200, headers: [], body: new TextEncoder().encode("sold") } };
      },
      memory,
      metrics: createPaymentMetrics({ ledger, owners, registry }),
      log,
    },
  );
  addPaidRoutes(app, live, serveSold);
  const listener = getRequestListener((asked, env) =>
    servePast(app, live, { serveSold, metrics: registry, log }).fetch(asked, env as NodeBindings),
  );
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  resources.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, routes, facilitation, ledger, owners, registry, begun, memory, resources };
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

describe("a route that is sold no more", () => {
  const payment = newPayment();
  beforeEach(async () => {
    shop.routes.set(posted.key, posted);
    shop.facilitation.settlements.splice(0, 1, pendingResponse, settledResponse);
    expect((await pay("/data?a=1", payment, { method: "POST", body: "one" })).status).toBe(202);
    shop.routes.clear();
  });

  it("still gives what was paid before to the same request, as long as it is kept", async () => {
    expect((await pay("/other", payment)).status).toBe(404);
    expect((await pay("/data?a=1", payment, { method: "POST", body: "two" })).status).toBe(404);
    const collected = await pay("/data?a=1", payment, { method: "POST", body: "one" });
    expect([collected.status, await collected.text()]).toEqual([200, "sold"]);
    expect(settlementOf(collected)).toMatchObject({ success: true, transaction: settledResponse.transaction });
    expect(await shop.registry.metrics()).toContain(
      'gatehouse_payment_requests_total{route="POST /data",outcome="sold"} 1',
    );
    await vi.waitUntil(() => shop.owners.count() === 0, { timeout: 20_000 });
    const again = await pay("/data?a=1", payment, { method: "POST", body: "one" });
    expect([again.status, await again.text()]).toEqual([200, "sold"]);
    await vi.waitUntil(() => shop.owners.count() === 0, { timeout: 20_000 });
    await shop.ledger.forgetResponses("delivered");
    expect((await pay("/data?a=1", payment, { method: "POST", body: "one" })).status).toBe(404);
    expect(shop.facilitation.asked).toEqual(["verify", "work", "settle", "settle"]);
  });

  it("is not found, and reports a settlement that was refused meanwhile", async () => {
    const refusal: SettleResponse = { ...pendingResponse, errorReason: "insufficient_funds", transaction: "" };
    shop.facilitation.settlements.splice(0, 1, refusal);
    const refused = await pay("/data?a=1", payment, { method: "POST", body: "one" });
    expect(refused.status).toBe(404);
    expect(settlementOf(refused)).toMatchObject({ success: false, errorReason: "insufficient_funds" });
  });

  it("is not found without a payment, with a malformed one, and with one that bought nothing", async () => {
    const answers = [await fetch(`${shop.url}/data`, { method: "POST" }), await pay("/data", "no payment")];
    for (const answer of [...answers, await pay("/data?a=1", newPayment(), { method: "POST", body: "one" })]) {
      expect(answer.status).toBe(404);
      expect([answer.headers.get("PAYMENT-REQUIRED"), answer.headers.get("PAYMENT-RESPONSE")]).toEqual([null, null]);
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
  await vi.waitUntil(() => shop.begun.mock.calls.length > 0, { timeout: 20_000 });
  // What the server does with a request before it waits for its body is done in this turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  change();
  sent.end("ne");
  const [answer] = await answered;
  answer.resume();
  return answer;
}

describe("a request whose body comes slowly", () => {
  it("pays for what is offered when it is whole, not for what was offered when it began", async () => {
    shop.routes.set(posted.key, posted);
    const dearer = { ...offer, amount: "50000000", payTo: `0x${"02".repeat(20)}` };
    const answer = await trickle(newPayment(), () => shop.routes.set(posted.key, { ...posted, accepts: [dearer] }));
    expect(answer.statusCode).toBe(402);
    expect(decodePaymentRequiredHeader(String(answer.headers["payment-required"])).accepts).toEqual([dearer]);
    expect(shop.facilitation.asked).toEqual([]);
  });

  it("buys nothing where its route is gone by then", async () => {
    shop.routes.set(posted.key, posted);
    const answer = await trickle(newPayment(), () => shop.routes.clear());
    expect([answer.statusCode, shop.facilitation.asked]).toEqual([404, []]);
  });

  it("collects what was paid before, whatever is offered by then", async () => {
    shop.routes.set(posted.key, posted);
    shop.facilitation.settlements.splice(0, 1, pendingResponse, settledResponse);
    const payment = newPayment();
    expect((await pay("/data", payment, { method: "POST", body: "one" })).status).toBe(202);
    const answer = await trickle(payment, () => shop.routes.set(posted.key, { ...posted, accepts: [] }));
    expect(answer.statusCode).toBe(200);
  });
});

/** Begins a paid request whose body never ends, and returns the answer. */
async function answerToUnread(path: string, payment: string, framing: Record<string, string>, part = 60_000) {
  const sent = request(`${shop.url}${path}`, { method: "POST", headers: { "PAYMENT-SIGNATURE": payment, ...framing } });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.on("error", () => undefined);
  sent.write(Buffer.alloc(part));
  const [answer] = await answered;
  sent.destroy();
  return answer;
}

it("requests no payment while none could be settled", async () => {
  shop.routes.set(route.key, route);
  expect((await fetch(`${shop.url}/data`)).status).toBe(402);
  shop.facilitation.settlesNothing = () => true;
  const answer = await fetch(`${shop.url}/data`);
  expect([answer.status, answer.headers.get("Retry-After"), answer.headers.get("PAYMENT-REQUIRED")]).toEqual([
    503,
    "3",
    null,
  ]);
  expect((await fetch(`${shop.url}/nothing`)).status).toBe(404);
});

it("answers the same past the application as through it", async () => {
  shop.routes.set(route.key, route);
  const ask = async (payment: Record<string, string>, way: Record<string, string>) => {
    const headers = { "X-Request-Id": "r-1", ...payment, ...way };
    const [answer] = (await once(request(`${shop.url}/data?a=1`, { headers }).end(), "response")) as [IncomingMessage];
    const { date: _date, ...fields } = answer.headers;
    return [answer.statusCode, Object.fromEntries(Object.entries(fields).toSorted()), await text(answer)];
  };
  for (const payment of [undefined, "no payment", newPayment()]) {
    const paying = payment === undefined ? {} : { "PAYMENT-SIGNATURE": payment };
    const past = await ask(paying, {});
    await vi.waitUntil(() => shop.owners.count() === 0, { timeout: 20_000 });
    expect(past).toEqual(await ask(paying, { "Content-Length": "0" }));
    expect(past[1]).toMatchObject({ "access-control-allow-origin": "*", "x-request-id": "r-1" });
  }
  const measured = 'gatehouse_http_request_duration_seconds_count{method="GET",route="/data",status="402"} 4';
  expect(await shop.registry.metrics()).toContain(measured);
});

describe("a request that is judged by its head", () => {
  const framings = [{ "Content-Length": "65000" }, { "Transfer-Encoding": "chunked" }];

  it("is answered before its body is read where its payment buys nothing", async () => {
    shop.routes.set(posted.key, { ...posted, accepts: [{ ...offer, amount: "20000" }] });
    for (const framing of framings) {
      expect((await answerToUnread("/nothing", newPayment(), framing)).statusCode).toBe(404);
      expect((await answerToUnread("/data", newPayment(), framing)).statusCode).toBe(402);
      expect((await answerToUnread("/data", "no payment", framing)).statusCode).toBe(402);
    }
    expect(shop.memory.bytes).toBe(0);
  });

  it("is answered 503 while bodies of its address that are not whole hold all that they may", async () => {
    shop.routes.set(posted.key, posted);
    const headers = { "PAYMENT-SIGNATURE": newPayment(), "Content-Length": "65000" };
    const slow = request(`${shop.url}/data`, { method: "POST", headers });
    slow.on("error", () => undefined);
    slow.write(Buffer.alloc(64_000));
    await vi.waitUntil(() => shop.memory.bytes >= 64_000, { timeout: 20_000 });
    for (const framing of framings)
      expect((await answerToUnread("/data", newPayment(), framing)).statusCode, JSON.stringify(framing)).toBe(503);
    slow.destroy();
    await vi.waitUntil(() => shop.memory.bytes === 0, { timeout: 20_000 });
    const sold = await pay("/data", newPayment(), { method: "POST", body: "x".repeat(60_000) });
    expect([sold.status, await sold.text()]).toEqual([200, "sold"]);
    await vi.waitUntil(() => shop.memory.bytes === 0, { timeout: 20_000 });
  });

  it("is answered 413 where its chunks are more than a body may have", async () => {
    shop.routes.set(posted.key, posted);
    const answer = await answerToUnread("/data", newPayment(), { "Transfer-Encoding": "chunked" }, 65_537);
    expect(answer.statusCode).toBe(413);
    expect(shop.memory.bytes).toBe(0);
  });
});
