import type { IncomingMessage, ServerResponse } from "node:http";
import { encodePaymentResponseHeader } from "@x402/core/http";
import type { Context } from "hono";
import { createBoundedLog, boundOfSales } from "#daemon/log/bounded-log.ts";
import type { App, AppVariables } from "#daemon/http/app.ts";
import { readHeldBody } from "#daemon/http/held-body.ts";
import type { Logger } from "#daemon/log/log.ts";
import { type ClientAddress, readForwarded, toAddressKey } from "#daemon/http/proxies/client-address.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { Scheme } from "#x402/scheme.ts";
import { followDelivery } from "./delivery.ts";
import { logOutcome, nameSale, type SaleInfo, type SaleLines } from "./sale/sale-lines.ts";
import { answerUnsettled, answerWithoutOffer, requirePayment, answerSale } from "./payment-answers.ts";
import { findAcceptedOffer, readPayment, type Payment } from "./sale/payment.ts";
import type { PaymentMetrics } from "./sale/payment-metrics.ts";
import { requestFingerprint } from "./claims/payment-claim.ts";
import { answerNoRoute } from "./other-requests.ts";
import type { LiveRoutes } from "./routes/live-routes.ts";
import { routeMethods, type Route } from "./routes/route.ts";
import type { SaleOutcome, SaleWithoutLedger } from "./sale/sale-outcome.ts";
import { noOffer, type SaleRequest } from "./sale/sale.ts";
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

/** `node:http` objects that the listener passes with each request. */
type NodeBindings = Readonly<{ incoming: IncomingMessage; outgoing: ServerResponse }>;

/**
 * Adds the routes for sale, which may change at any time. A request is served only if its method and path match those of a route byte for
 * byte; only this code calls the upstream, so no other spelling of a path can bypass the payment. If a route was removed, a payment still
 * gets what it bought before. `payment-answers.ts` defines the response to each outcome of a sale.
 */
export function addPaidRoutes(app: App, options: PaidRoutesOptions, dependencies: PaidRoutesDependencies): void {
  const { log } = dependencies;
  const serving = {
    ...dependencies,
    lines: { sales: createBoundedLog(log, boundOfSales), others: createBoundedLog(log), log },
  };
  app.all("*", async (c) => {
    const { method, url: target = "" } = getBindings(c).incoming;
    const isHead = method === "HEAD";
    const named = options.routes.find(isHead ? "GET" : c.req.method, c.req.path);
    if (named !== undefined) c.set("route", named.path);
    const sold = isHead ? "GET" : routeMethods.find((known) => known === method);
    return sold === undefined
      ? answerNoRoute(c, target, options.routes)
      : serve(c, { method: sold, target, isHead }, options, serving);
  });
}

/** Client's request line: the method to pay for, and path with query as sent. HEAD only requests the offers of its GET. */
type Target = Readonly<{ method: Route["method"]; target: string; isHead: boolean }>;

type Serving = PaidRoutesDependencies & Readonly<{ lines: SaleLines }>;

async function serve(
  c: Context<AppVariables>,
  { method, target, isHead }: Target,
  options: PaidRoutesOptions,
  serving: Serving,
): Promise<Response> {
  const path = target.split("?", 1)[0] ?? "";
  const find = () => options.routes.find(method, path);
  const url = () => new URL(target, options.publicUrl ?? c.req.url).href;
  const refuse = (outcome: "unpaid" | "invalid", reason: string) => {
    const route = find();
    if (route === undefined) return answerNoRoute(c, target, options.routes);
    serving.metrics.count(route, outcome);
    return requirePayment(route, url(), reason);
  };
  const header = isHead ? undefined : c.req.header("PAYMENT-SIGNATURE");
  if (header === undefined && isUnsettled(find(), serving)) return answerUnsettled();
  if (header === undefined)
    return refuse("unpaid", `PAYMENT-SIGNATURE header is required${isHead ? ", with GET" : ""}`);
  const reading = readPayment(header, options.schemes);
  if (!reading.ok) return refuse("invalid", `invalid_payload: ${reading.message}`);

  const { payment } = reading;
  const client = toAddressKey(findAddress(getBindings(c).incoming, options.client));
  using opened = new DisposableStack();
  const memory = opened.use(openMemory(c, client, serving.memory));
  let body: Uint8Array<ArrayBuffer> | undefined;
  if (method !== "GET") {
    // Any client can make up a payment, so read the body only if the payment may buy something here, or has bought it.
    if (!isOffered(payment, find(), options)) {
      const claim = await serving.findClaim(payment);
      if (claim === false) return refuse("invalid", noOffer);
      if (claim !== true) return answerWithoutOffer(claim);
    }
    body = await readHeldBody(c.req.raw.body, options.bodyLimitBytes, memory);
    if (body === undefined) return answerWithoutOffer({ kind: "busy" });
  }
  opened.move();
  // Look up the route after the body, which a client may send slowly: the offers at that time apply.
  const route = find();
  const sent = { payment, fingerprint: requestFingerprint({ method, target, body }), client, memory };
  if (route === undefined) return collect(c, { ...sent, target, key: `${method} ${path}` }, options, serving);
  return buy(c, { ...sent, route, target, url: url(), body }, options, serving);
}

/** Returns whether a route is sold, and no payment for it could be settled now. */
function isUnsettled(route: Route | undefined, { settlesNothing }: Serving): boolean {
  return route !== undefined && (route.accepts.length === 0 || settlesNothing());
}

function isOffered(payment: Payment, route: Route | undefined, { routes }: PaidRoutesOptions): boolean {
  return route !== undefined && findAcceptedOffer(payment, routes.taken(route)) !== undefined;
}

/** Completely received payment, and the memory that buffers its request. */
type Sent = Readonly<{ payment: Payment; fingerprint: string; client: string; memory: ConnectionMemory }>;

type Ordered = Sent &
  Readonly<{ route: Route; target: string; url: string; body: Uint8Array<ArrayBuffer> | undefined }>;

async function buy(
  c: Context<AppVariables>,
  { payment, fingerprint, client, memory, route, target, url, body }: Ordered,
  options: PaidRoutesOptions,
  serving: Serving,
): Promise<Response> {
  const { sell, work, metrics } = serving;
  const { payer } = payment.key;
  const trace = { requestId: c.get("requestId"), trace: c.get("trace") };
  using opened = new DisposableStack();
  opened.use(memory);
  const origin = {
    clientAddress: findAddress(getBindings(c).incoming, options.client),
    protocol: new URL(url).protocol === "https:" ? ("https" as const) : ("http" as const),
    host: new URL(url).host,
    ...trace,
  };
  const outcome = await sell({
    payment,
    requirements: findAcceptedOffer(payment, options.routes.taken(route)),
    route: route.key,
    fingerprint,
    client,
    memory,
    trace,
    work: async () => {
      const request = { route, target, headers: c.req.raw.headers, body, origin, memory };
      const result = await metrics.timeUpstream(route, () => work(request, payer));
      memory.release(body?.buffer.byteLength ?? 0);
      return result;
    },
  });
  metrics.count(route, outcome.kind);
  opened.move();
  finishSale(c, nameSale(route.key, payment, trace), { outcome, memory, options, serving });
  return answerSale(route, url, outcome);
}

/** Payment sent to a path that is not, or no longer, a route; `key` would be its route's. */
type Claimed = Sent & Readonly<{ target: string; key: string }>;

/** Delivers to a payment what it bought while the route existed; returns not found for anything else. */
async function collect(
  c: Context<AppVariables>,
  { payment, fingerprint, client, memory, target, key }: Claimed,
  options: PaidRoutesOptions,
  serving: Serving,
): Promise<Response> {
  const trace = { requestId: c.get("requestId"), trace: c.get("trace") };
  using opened = new DisposableStack();
  opened.use(memory);
  const outcome = await serving.sell({
    payment,
    requirements: undefined,
    route: key,
    fingerprint,
    client,
    memory,
    trace,
    work: () => Promise.resolve({ kind: "failed", status: 503, message: "the route is sold no more" }),
  });
  if (outcome.kind === "other-request") return answerNoRoute(c, target, options.routes);
  if (outcome.kind === "invalid") {
    if (outcome.settlement !== undefined) c.header("PAYMENT-RESPONSE", encodePaymentResponseHeader(outcome.settlement));
    return answerNoRoute(c, target, options.routes);
  }
  // For these two, the ledger shows that the request was for a route, so clients can't make up labels.
  if (outcome.kind === "sold" || outcome.kind === "pending") serving.metrics.count({ key }, outcome.kind);
  opened.move();
  finishSale(c, nameSale(key, payment, trace), { outcome, memory, options, serving });
  return answerWithoutOffer(outcome);
}

/** Opens the memory for one sale's response; its connection may be closed in favour of other clients. */
function openMemory(c: Context, client: string, budget: MemoryBudget): ConnectionMemory {
  const { outgoing } = getBindings(c);
  return new ConnectionMemory(budget, { address: () => client, cut: () => outgoing.destroy() });
}

type Ended = Readonly<{
  outcome: SaleOutcome;
  /** Buffers the response until the client has received it. */
  memory: ConnectionMemory;
  options: PaidRoutesOptions;
  serving: Serving;
}>;

/** Logs the outcome of a sale, and tracks the delivery of its response to the client. */
function finishSale(c: Context, facts: SaleInfo, { outcome, memory, options, serving }: Ended): void {
  const { lines } = serving;
  logOutcome(lines, facts, outcome);
  if (outcome.kind !== "sold" && outcome.kind !== "declined") return memory[Symbol.dispose]();
  const { outgoing } = getBindings(c);
  const { deliveryTimeoutMs } = options;
  void followDelivery(outcome, { outgoing, memory, deliveryTimeoutMs }, { facts, lines: lines.others });
}

function findAddress({ socket, headers }: IncomingMessage, client: ClientAddress): string {
  if (socket.remoteAddress === undefined) return "unknown";
  return client.of(socket.remoteAddress, client.forwardedBy(readForwarded(headers)));
}

function getBindings(c: Context): NodeBindings {
  return c.env as NodeBindings;
}
