import type { IncomingMessage, ServerResponse } from "node:http";
import { createBoundedLog, saleLineLimit } from "#daemon/log/bounded-log.ts";
import { readHeldRequest } from "#daemon/http/held-body.ts";
import { readHeader, type RequestTrace } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { type ClientAddress, readForwarded, toAddressKey } from "#daemon/http/proxies/client-address.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { endSale, nameSale, type SaleLogs } from "./delivery.ts";
import type { FindOfferedRoute, OfferedRoute } from "./facilitators/completed-offers.ts";
import {
  respondToSale,
  respondUnsettled,
  respondWithoutOffer,
  encodeHeader,
  rememberOffers,
  requirePayment,
  type Answer,
  type RememberedOffers,
} from "./payment-answers.ts";
import { findAcceptedOffer, readPayment, type Payment } from "./sale/payment-header.ts";
import type { PaymentMetrics } from "./sale/payment-metrics.ts";
import { requestFingerprint } from "./claims/payment-claim.ts";
import type { Route } from "./routes/route.ts";
import type { SaleOutcome, SaleWithoutLedger } from "./sale/sale-outcome.ts";
import { noOffer, type SaleRequest } from "./sale/sale.ts";
import type { PaidRequest, UpstreamResult } from "./upstream/upstream.ts";

export type SellingDependencies = Readonly<{
  sell: (request: SaleRequest) => Promise<SaleOutcome>;
  /** Returns whether none of the current offers could be settled now. */
  settlesNothing: () => boolean;
  /** Returns whether this exact payment has bought something before, or why that is currently unknown. */
  findClaim: (payment: Payment) => Promise<boolean | SaleWithoutLedger>;
  /** Performs the work of a request paid by this account. */
  work: (request: PaidRequest, payer: string) => Promise<UpstreamResult>;
  /** Memory budget for buffered requests until they are processed, and for responses until their clients have received them. */
  memory: MemoryBudget;
  metrics: PaymentMetrics;
  log: Logger;
}>;

/** Routes for sale, and settings of their delivery. */
export type SellingOptions = Readonly<{
  find: FindOfferedRoute;
  publicUrl: string | undefined;
  /** Max size of a request body. */
  bodyLimitBytes: number;
  /** Max time for a client to receive a purchased response. */
  deliveryTimeoutMs: number;
  /** Determines the client address of a request. */
  client: ClientAddress;
}>;

/** A request for a sold route, or with a payment, which may have bought something from a removed route. */
export type SoldRequest = Readonly<{
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** Method to pay for: GET for a HEAD request. */
  method: Route["method"];
  path: string;
  /** Absolute URL, from its Host header. */
  url: string;
  /** The requested route, as offered on arrival. */
  offered: OfferedRoute | undefined;
  trace: RequestTrace;
  /** Builds the response to a request that matches no route. */
  answerUnsold: () => Answer;
}>;

/** Sells, or requests payment. */
export type ServeSold = (request: SoldRequest) => Answer | Promise<Answer>;

/** State shared by all sales of a server. */
type Selling = SellingOptions & SellingDependencies & Readonly<{ lines: SaleLogs; offers: RememberedOffers }>;

/**
 * Creates the function that serves the routes for sale, which may change at any time. A request is served only if its
 * method and path match those of a route byte for byte; only this code calls the upstream, so no other spelling of a
 * path can bypass the payment. If a route was removed, a payment still gets its earlier purchase. `payment-answers.ts`
 * defines the response to each outcome of a sale.
 */
export function createSelling(options: SellingOptions, dependencies: SellingDependencies): ServeSold {
  const { log } = dependencies;
  const lines = { sales: createBoundedLog(log, saleLineLimit), others: createBoundedLog(log), log };
  const selling = { ...options, ...dependencies, lines, offers: rememberOffers(options) };
  return (request) => serve(request, selling);
}

function serve(request: SoldRequest, selling: Selling): Answer | Promise<Answer> {
  const { incoming, url, offered } = request;
  const isHead = incoming.method === "HEAD";
  const header = isHead ? undefined : readHeader(incoming.headers, "payment-signature");
  if (header !== undefined) return servePaid(request, header, selling);
  if (offered === undefined) return request.answerUnsold();
  const { route } = offered;
  if (route.accepts.length === 0 || selling.settlesNothing()) return respondUnsettled();
  selling.metrics.count(route, "unpaid");
  return selling.offers(route, { target: readTarget(request), url, isHead });
}

async function servePaid(request: SoldRequest, header: string, selling: Selling): Promise<Answer> {
  const { incoming, method, path } = request;
  const refuse = (reason: string) => {
    if (request.offered === undefined) return request.answerUnsold();
    const { route } = request.offered;
    selling.metrics.count(route, "invalid");
    return requirePayment(route, readUrl(request, selling).href, reason);
  };
  const reading = readPayment(header);
  if (!reading.ok) return refuse(`invalid_payload: ${reading.message}`);

  const { payment } = reading;
  const address = findAddress(incoming, selling.client);
  const client = toAddressKey(address);
  using opened = new DisposableStack();
  const memory = opened.use(openMemory(request, client, selling.memory));
  let { offered } = request;
  let body: Uint8Array<ArrayBuffer> | undefined;
  if (method !== "GET") {
    // Any client can make up a payment, so read the body only if the payment may buy something here, or has bought it.
    if (offered === undefined || findAcceptedOffer(payment, offered.taken()) === undefined) {
      const claim = await selling.findClaim(payment);
      if (claim === false) return refuse(noOffer);
      if (claim !== true) return respondWithoutOffer(claim);
    }
    body = await readHeldRequest(incoming, selling.bodyLimitBytes, memory);
    if (body === undefined) return respondWithoutOffer({ kind: "busy" });
    // A client may send its body slowly: the offers at its end apply.
    offered = selling.find(method, path);
  }
  opened.move();
  const fingerprint = requestFingerprint({ method, target: readTarget(request), body });
  const sale = { payment, fingerprint, client, memory, trace: request.trace };
  const paid = { request, sale, address, body };
  return offered === undefined ? collect(paid, selling) : buy(paid, offered, selling);
}

/** Completely received request with its payment, and the memory that buffers it. */
type Paid = Readonly<{
  request: SoldRequest;
  /** Sale of the requested route, whichever it is. */
  sale: Omit<SaleRequest, "requirements" | "route" | "work"> & Readonly<{ memory: ConnectionMemory }>;
  /** Address of the client. */
  address: string;
  body: Uint8Array<ArrayBuffer> | undefined;
}>;

async function buy(paid: Paid, { route, taken }: OfferedRoute, selling: Selling): Promise<Answer> {
  const { request, sale, address, body } = paid;
  const { payment, memory } = sale;
  const { trace, incoming } = request;
  using opened = new DisposableStack();
  opened.use(memory);
  const url = readUrl(request, selling);
  const outcome = await selling.sell({
    ...sale,
    requirements: findAcceptedOffer(payment, taken()),
    route: route.key,
    work: async () => {
      const protocol = url.protocol === "https:" ? ("https" as const) : ("http" as const);
      const origin = { clientAddress: address, protocol, host: url.host, ...trace };
      const work = { route, target: readTarget(request), headers: incoming.headers, body, origin, memory };
      const result = await selling.metrics.timeUpstream(route, () => selling.work(work, payment.key.payer));
      memory.release(body?.buffer.byteLength ?? 0);
      return result;
    },
  });
  selling.metrics.count(route, outcome.kind);
  opened.move();
  finish(paid, route.key, outcome, selling);
  return respondToSale(route, url.href, outcome);
}

/** Delivers a payment's earlier purchase from a removed route; returns not found for anything else. */
async function collect(paid: Paid, selling: Selling): Promise<Answer> {
  const { request, sale } = paid;
  const { method, path } = request;
  using opened = new DisposableStack();
  opened.use(sale.memory);
  /** Key that the route would have. */
  const key = `${method} ${path}`;
  const outcome = await selling.sell({
    ...sale,
    requirements: undefined,
    route: key,
    work: () => Promise.resolve({ kind: "failed", status: 503, message: "the route is no longer sold" }),
  });
  if (outcome.kind === "other-request") return request.answerUnsold();
  if (outcome.kind === "invalid") {
    const { settlement } = outcome;
    const unsold = request.answerUnsold();
    if (settlement === undefined) return unsold;
    return { ...unsold, headers: { ...unsold.headers, "PAYMENT-RESPONSE": encodeHeader(settlement) } };
  }
  // For these two, the ledger shows that the request was for a route, so clients can't make up labels.
  if (outcome.kind === "sold" || outcome.kind === "pending") selling.metrics.count({ key }, outcome.kind);
  opened.move();
  finish(paid, key, outcome, selling);
  return respondWithoutOffer(outcome);
}

/** Opens the memory for one sale's response; its connection may be closed in favour of other clients. */
function openMemory({ outgoing }: SoldRequest, client: string, budget: MemoryBudget): ConnectionMemory {
  return new ConnectionMemory(budget, { address: () => client, cut: () => outgoing.destroy() });
}

function finish({ request, sale }: Paid, route: string, outcome: SaleOutcome, selling: Selling): void {
  const { outgoing, trace } = request;
  const { payment, memory } = sale;
  endSale(outcome, { outgoing, memory, facts: nameSale(route, payment, trace) }, selling);
}

function readTarget({ incoming: { url = "" } }: SoldRequest): string {
  return url;
}

/** Builds the absolute URL of a request for a sold route; other paths may form no URL. */
function readUrl(request: SoldRequest, { publicUrl }: Selling): URL {
  return new URL(readTarget(request), publicUrl ?? request.url);
}

function findAddress({ socket, headers }: IncomingMessage, client: ClientAddress): string {
  if (socket.remoteAddress === undefined) return "unknown";
  return client.of(socket.remoteAddress, client.forwardedBy(readForwarded(headers)));
}
