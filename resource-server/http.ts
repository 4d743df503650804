import type { IncomingMessage } from "node:http";
import { encodePaymentResponseHeader } from "@x402/core/http";
import { createBoundedLog, boundOfSales } from "#daemon/log/bounded-log.ts";
import { readHeldBody } from "#daemon/http/held-body.ts";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { type ClientAddress, readForwarded, toAddressKey } from "#daemon/http/proxies/client-address.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { Scheme } from "#x402/scheme.ts";
import { followDelivery } from "./delivery.ts";
import { logOutcome, nameSale, type SaleInfo, type SaleLines } from "./sale/sale-lines.ts";
import { rememberOffers, type RememberedOffers } from "./offers.ts";
import { answerUnsettled, answerWithoutOffer, requirePayment, answerSale, type Answer } from "./payment-answers.ts";
import { findAcceptedOffer, readPayment, type Payment } from "./sale/payment.ts";
import type { PaymentMetrics } from "./sale/payment-metrics.ts";
import { requestFingerprint } from "./claims/payment-claim.ts";
import type { LiveRoutes } from "./routes/live-routes.ts";
import type { Route } from "./routes/route.ts";
import type { SaleOutcome, SaleWithoutLedger } from "./sale/sale-outcome.ts";
import { noOffer, type SaleRequest } from "./sale/sale.ts";
import { readHeader, type SellingRequest } from "./selling-request.ts";
import type { PaidRequest, UpstreamResult } from "./upstream/upstream.ts";

export type PaidRoutesDependencies = Readonly<{
  sell: (request: SaleRequest) => Promise<SaleOutcome>;
  /** Returns whether none of the current offers could be settled now. */
  settlesNothing: () => boolean;
  /** Returns whether this exact payment has bought something before; or why that is currently unknown. */
  findClaim: (payment: Payment) => Promise<boolean | SaleWithoutLedger>;
  /** Performs the work of a request paid by this account. */
  work: (request: PaidRequest, payer: string) => Promise<UpstreamResult>;
  /** Memory budget for buffered requests until they are processed, and for responses until their clients have received them. */
  memory: MemoryBudget;
  metrics: PaymentMetrics;
  log: Logger;
}>;

/** Routes for sale, and settings of their delivery. */
export type PaidRoutesOptions = Readonly<{
  routes: Pick<LiveRoutes, "find" | "taken">;
  publicUrl: string | undefined;
  /** Max size of a request body. */
  bodyLimitBytes: number;
  /** Max time for a client to receive a purchased response. */
  deliveryTimeoutMs: number;
  /** Determines the client address of a request. */
  client: ClientAddress;
  /** Schemes by which payments are parsed. Default: all known schemes. */
  schemes?: readonly Scheme[];
}>;

/** Serves a request by a method that can be sold: sells, requests payment, or responds that there is no such route. */
export type ServeSold = (request: SellingRequest, method: Route["method"]) => MaybeAnswered;

type MaybeAnswered = Answer | Response | Promise<Answer | Response>;

/**
 * Creates the function that serves the routes for sale, which may change at any time. A request is served only if its method and path match
 * those of a route byte for byte; only this code calls the upstream, so no other spelling of a path can bypass the payment. If a route was
 * removed, a payment still gets what it bought before. `payment-answers.ts` defines the response to each outcome of a sale.
 */
export function createSelling(options: PaidRoutesOptions, dependencies: PaidRoutesDependencies): ServeSold {
  const { log } = dependencies;
  const lines = { sales: createBoundedLog(log, boundOfSales), others: createBoundedLog(log), log };
  const serving = { ...dependencies, lines, offers: rememberOffers(options) };
  return (request, method) => serve(request, method, options, serving);
}

type Serving = PaidRoutesDependencies & Readonly<{ lines: SaleLines; offers: RememberedOffers }>;

function serve(
  request: SellingRequest,
  method: Route["method"],
  options: PaidRoutesOptions,
  serving: Serving,
): MaybeAnswered {
  const { incoming } = request;
  const { url: target = "" } = incoming;
  const isHead = incoming.method === "HEAD";
  const path = target.split("?", 1)[0] ?? "";
  const find = () => options.routes.find(method, path);
  const header = isHead ? undefined : readHeader(incoming.headers, "payment-signature");
  if (header !== undefined) return servePaid(request, { method, target, path, find, header }, options, serving);
  const route = find();
  if (route === undefined) return request.answerNoRoute();
  if (route.accepts.length === 0 || serving.settlesNothing()) return answerUnsettled();
  serving.metrics.count(route, "unpaid");
  return serving.offers(route, request, isHead);
}

/** A request with a payment: the method to pay for, path with query as sent, and the route that it names at the moment. */
type Paid = Readonly<{
  method: Route["method"];
  target: string;
  path: string;
  find: () => Route | undefined;
  header: string;
}>;

async function servePaid(
  request: SellingRequest,
  { method, target, path, find, header }: Paid,
  options: PaidRoutesOptions,
  serving: Serving,
): Promise<Answer | Response> {
  const url = new URL(target, options.publicUrl ?? request.url);
  const refuse = (reason: string) => {
    const route = find();
    if (route === undefined) return request.answerNoRoute();
    serving.metrics.count(route, "invalid");
    return requirePayment(route, url.href, reason);
  };
  const reading = readPayment(header, options.schemes);
  if (!reading.ok) return refuse(`invalid_payload: ${reading.message}`);

  const { payment } = reading;
  const address = findAddress(request.incoming, options.client);
  const client = toAddressKey(address);
  using opened = new DisposableStack();
  const memory = opened.use(openMemory(request, client, serving.memory));
  let body: Uint8Array<ArrayBuffer> | undefined;
  if (method !== "GET") {
    // Any client can make up a payment, so read the body only if the payment may buy something here, or has bought it.
    if (!isOffered(payment, find(), options)) {
      const claim = await serving.findClaim(payment);
      if (claim === false) return refuse(noOffer);
      if (claim !== true) return answerWithoutOffer(claim);
    }
    body = await readHeldBody(request.body(), options.bodyLimitBytes, memory);
    if (body === undefined) return answerWithoutOffer({ kind: "busy" });
  }
  opened.move();
  // Look up the route after the body, which a client may send slowly: the offers at that time apply.
  const route = find();
  const trace = request.trace();
  const sent = { payment, fingerprint: requestFingerprint({ method, target, body }), client, memory, trace };
  if (route === undefined) return collect(request, { ...sent, key: `${method} ${path}` }, options, serving);
  return buy(request, { ...sent, route, target, url, body, address }, options, serving);
}

function isOffered(payment: Payment, route: Route | undefined, { routes }: PaidRoutesOptions): boolean {
  return route !== undefined && findAcceptedOffer(payment, routes.taken(route)) !== undefined;
}

/** Completely received payment, and the memory that buffers its request. */
type Sent = Readonly<{
  payment: Payment;
  fingerprint: string;
  client: string;
  memory: ConnectionMemory;
  trace: RequestTrace;
}>;

type Ordered = Sent &
  Readonly<{ route: Route; target: string; url: URL; body: Uint8Array<ArrayBuffer> | undefined; address: string }>;

async function buy(
  { incoming, outgoing }: SellingRequest,
  { route, target, url, body, address, ...sent }: Ordered,
  options: PaidRoutesOptions,
  serving: Serving,
): Promise<Answer> {
  const { sell, work, metrics } = serving;
  const { payment, memory, trace } = sent;
  using opened = new DisposableStack();
  opened.use(memory);
  const protocol = url.protocol === "https:" ? ("https" as const) : ("http" as const);
  const origin = { clientAddress: address, protocol, host: url.host, ...trace };
  const outcome = await sell({
    ...sent,
    requirements: findAcceptedOffer(payment, options.routes.taken(route)),
    route: route.key,
    work: async () => {
      const request = { route, target, headers: incoming.headers, body, origin, memory };
      const result = await metrics.timeUpstream(route, () => work(request, payment.key.payer));
      memory.release(body?.buffer.byteLength ?? 0);
      return result;
    },
  });
  metrics.count(route, outcome.kind);
  opened.move();
  finishSale(nameSale(route.key, payment, trace), { outcome, outgoing, memory, options, serving });
  return answerSale(route, url.href, outcome);
}

/** Payment sent to a path that is not, or no longer, a route; `key` would be its route's. */
type Claimed = Sent & Readonly<{ key: string }>;

/** Delivers to a payment what it bought while the route existed; returns not found for anything else. */
async function collect(
  { outgoing, answerNoRoute: noRoute }: SellingRequest,
  { key, ...sent }: Claimed,
  options: PaidRoutesOptions,
  serving: Serving,
): Promise<Answer | Response> {
  const { payment, memory, trace } = sent;
  using opened = new DisposableStack();
  opened.use(memory);
  const outcome = await serving.sell({
    ...sent,
    requirements: undefined,
    route: key,
    work: () => Promise.resolve({ kind: "failed", status: 503, message: "the route is sold no more" }),
  });
  if (outcome.kind === "other-request") return noRoute();
  if (outcome.kind === "invalid") {
    const { settlement } = outcome;
    return noRoute(settlement === undefined ? {} : { "PAYMENT-RESPONSE": encodePaymentResponseHeader(settlement) });
  }
  // For these two, the ledger shows that the request was for a route, so clients can't make up labels.
  if (outcome.kind === "sold" || outcome.kind === "pending") serving.metrics.count({ key }, outcome.kind);
  opened.move();
  finishSale(nameSale(key, payment, trace), { outcome, outgoing, memory, options, serving });
  return answerWithoutOffer(outcome);
}

/** Opens the memory for one sale's response; its connection may be closed in favour of other clients. */
function openMemory({ outgoing }: SellingRequest, client: string, budget: MemoryBudget): ConnectionMemory {
  return new ConnectionMemory(budget, { address: () => client, cut: () => outgoing.destroy() });
}

type Ended = Pick<SellingRequest, "outgoing"> &
  Readonly<{
    outcome: SaleOutcome;
    /** Buffers the response until the client has received it. */
    memory: ConnectionMemory;
    options: PaidRoutesOptions;
    serving: Serving;
  }>;

/** Logs the outcome of a sale, and tracks the delivery of its response to the client. */
function finishSale(facts: SaleInfo, { outcome, outgoing, memory, options, serving }: Ended): void {
  const { lines } = serving;
  logOutcome(lines, facts, outcome);
  if (outcome.kind !== "sold" && outcome.kind !== "declined") return memory[Symbol.dispose]();
  const { deliveryTimeoutMs } = options;
  void followDelivery(outcome, { outgoing, memory, deliveryTimeoutMs }, { facts, lines: lines.others });
}

function findAddress({ socket, headers }: IncomingMessage, client: ClientAddress): string {
  if (socket.remoteAddress === undefined) return "unknown";
  return client.of(socket.remoteAddress, client.forwardedBy(readForwarded(headers)));
}
