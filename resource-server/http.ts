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
import { logOutcome, nameSale, type SaleFacts, type SaleLines } from "./sale/sale-lines.ts";
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
  /** Whether nothing that is sold could be settled now. */
  settlesNothing: () => boolean;
  /** Whether this very payment has bought something before; or why that is not known now. */
  findClaim: (payment: Payment) => Promise<boolean | SaleWithoutLedger>;
  /** Does what a request is for that this account has paid. */
  work: (request: PaidRequest, payer: string) => Promise<UpstreamResult>;
  /** Memory that requests are held in until they were worked on, and responses until their clients have taken them. */
  memory: MemoryBudget;
  metrics: PaymentMetrics;
  log: Logger;
}>;

/** Routes that are sold, and settings of their delivery. */
export type PaidRoutesOptions = Readonly<{
  routes: Pick<LiveRoutes, "find" | "taken">;
  publicUrl: string | undefined;
  /** Largest body of a request. */
  bodyLimitBytes: number;
  /** Time that a client may take to receive a response that it bought. */
  deliveryTimeoutMs: number;
  /** Finds the address that requests come from. */
  client: ClientAddress;
  /** The schemes that payments are read by. Default: all that are known. */
  schemes?: readonly Scheme[];
}>;

/** The parts of `node:http` that the listener hands to each request. */
type NodeBindings = Readonly<{ incoming: IncomingMessage; outgoing: ServerResponse }>;

/**
 * Adds the routes that are sold, which may change at any time. A request is served only when method and path, byte for byte as they came, are
 * those of a route; the upstream is reached from here alone, so that no other spelling of a path gets around the payment. Where no route is
 * sold any more, a payment still gets what it bought before. What is answered to the outcome of a sale stands in `payment-answers.ts`.
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

/** Request line of a client: the method it may pay for, and path with query as it sent them. HEAD only requests the offers of its GET. */
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
  if (header === undefined && find() !== undefined && serving.settlesNothing()) return answerUnsettled();
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
    // Anybody can make up a payment: a body is read only for one that may buy something here, or has bought it.
    if (!isOffered(payment, find(), options)) {
      const claim = await serving.findClaim(payment);
      if (claim === false) return refuse("invalid", noOffer);
      if (claim !== true) return answerWithoutOffer(claim);
    }
    body = await readHeldBody(c.req.raw.body, options.bodyLimitBytes, memory);
    if (body === undefined) return answerWithoutOffer({ kind: "busy" });
  }
  opened.move();
  // Looked up after the body, which a client may send slowly: what is sold by then counts.
  const route = find();
  const sent = { payment, fingerprint: requestFingerprint({ method, target, body }), client, memory };
  if (route === undefined) return collect(c, { ...sent, target, key: `${method} ${path}` }, options, serving);
  return buy(c, { ...sent, route, target, url: url(), body }, options, serving);
}

function isOffered(payment: Payment, route: Route | undefined, { routes }: PaidRoutesOptions): boolean {
  return route !== undefined && findAcceptedOffer(payment, routes.taken(route)) !== undefined;
}

/** A payment that came whole, and the memory that its request is held in. */
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

/** A payment sent to a path that is not, or no longer, a route; `key` would be its route's. */
type Claimed = Sent & Readonly<{ target: string; key: string }>;

/** Gives a payment what it bought while there was a route for it; anything else is not found. */
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
  // Of these two the ledger knows that the request was for a route: no client can make up labels.
  if (outcome.kind === "sold" || outcome.kind === "pending") serving.metrics.count({ key }, outcome.kind);
  opened.move();
  finishSale(c, nameSale(key, payment, trace), { outcome, memory, options, serving });
  return answerWithoutOffer(outcome);
}

/** Opens the memory for what one sale gives to its client, whose connection may have to end for the sake of others. */
function openMemory(c: Context, client: string, budget: MemoryBudget): ConnectionMemory {
  const { outgoing } = getBindings(c);
  return new ConnectionMemory(budget, { address: () => client, cut: () => outgoing.destroy() });
}

type Ended = Readonly<{
  outcome: SaleOutcome;
  /** Holds the response until the client has taken it. */
  memory: ConnectionMemory;
  options: PaidRoutesOptions;
  serving: Serving;
}>;

/** Logs how a sale ended, and follows the delivery of what it gives to the client. */
function finishSale(c: Context, facts: SaleFacts, { outcome, memory, options, serving }: Ended): void {
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
