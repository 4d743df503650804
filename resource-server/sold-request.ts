import type { IncomingMessage, ServerResponse } from "node:http";
import { readHeldRequest } from "#daemon/http/held-body.ts";
import { readHeader, type RequestTrace } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { type ClientAddress, readForwardedFor, toAddressKey } from "#daemon/http/proxies/client-address.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { requestFingerprint } from "./claims/payment-claim.ts";
import { createSaleLog, followDelivery, nameSale, type SaleLog } from "./delivery.ts";
import type { FindOfferedRoute, OfferedRoute } from "./facilitators/completed-offers.ts";
import {
  respondToSale,
  respondUnsold,
  respondWithoutOffer,
  createOfferMemory,
  requirePayment,
  type HttpResponse,
  type RememberedOffers,
} from "./payment-answers.ts";
import type { Route } from "./routes/route.ts";
import { findAcceptedOffer, readPayment, type Payment } from "./sale/payment-header.ts";
import type { PaymentMetrics } from "./sale/payment-metrics.ts";
import { noOffer, type Sales } from "./sale/sale.ts";
import type { UpstreamWatch } from "./upstream/upstream-watch.ts";
import type { PaidRequest, UpstreamResult } from "./upstream/upstream.ts";

export type SellingParts = Readonly<{
  find: FindOfferedRoute;
  sales: Sales;
  isSettlingPaused: () => boolean;
  work: (request: PaidRequest) => Promise<UpstreamResult>;
  upstreams: Pick<UpstreamWatch, "record" | "isUnreachable">;
  /** Memory budget for buffered requests until they are processed, and for responses until their clients have received them. */
  memory: MemoryBudget;
  client: ClientAddress;
  metrics: PaymentMetrics;
  log: Logger;
  publicUrl: string | undefined;
  bodyLimitBytes: number;
  deliveryTimeoutMs: number;
}>;

/** A request for a sold route, or one with a payment, which may have bought something from a removed route. */
export type SoldRequest = Readonly<{
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** Method to pay for: GET for a HEAD request. */
  method: Route["method"];
  path: string;
  url: string;
  offered: OfferedRoute | undefined;
  trace: RequestTrace;
  respondUnsold: () => HttpResponse;
}>;

export type ServeSold = (request: SoldRequest) => HttpResponse | Promise<HttpResponse>;

type Selling = SellingParts & Readonly<{ lines: SaleLog; offers: RememberedOffers }>;

/**
 * Creates the function that serves the routes for sale, which may change at any time. A request is served only if its method and path match
 * those of a route byte for byte; only this code calls the upstream, so no alternative spelling of a path can bypass payment. If a route
 * was removed, a payment still gets its earlier purchase. `payment-answers.ts` defines the response to each outcome of a sale.
 */
export function createSelling(parts: SellingParts): ServeSold {
  const sellingParts = { ...parts, lines: createSaleLog(parts.log), offers: createOfferMemory(parts) };
  return (request) => {
    const { incoming, url, offered } = request;
    const isHead = incoming.method === "HEAD";
    const header = isHead ? undefined : readHeader(incoming.headers, "payment-signature");
    if (header !== undefined) return servePaid(request, header, sellingParts);
    if (offered === undefined) return request.respondUnsold();
    const { route } = offered;
    if (route.accepts.length === 0 || parts.isSettlingPaused()) return respondUnsold("payments can't be settled");
    if (parts.upstreams.isUnreachable(route)) return respondUnsold("the upstream can't be reached");
    parts.metrics.count(route, "unpaid");
    return sellingParts.offers(route, { target: readTarget(request), url, isHead });
  };
}

async function servePaid(request: SoldRequest, header: string, sellingParts: Selling): Promise<HttpResponse> {
  const paymentResult = readPayment(header);
  if (!paymentResult.ok) return reject(request, `invalid_payload: ${paymentResult.message}`, sellingParts);
  const { payment } = paymentResult;
  const address = findAddress(request.incoming, sellingParts.client);
  const client = toAddressKey(address);
  using openedResources = new DisposableStack();
  // The request's connection may be closed to free memory for other clients.
  const owner = { address: () => client, cut: () => request.outgoing.destroy() };
  const memory = openedResources.use(new ConnectionMemory(sellingParts.memory, owner));
  const receivedRequest = await receive(request, payment, memory, sellingParts);
  if ("response" in receivedRequest) return receivedRequest.response;
  const { body, offered } = receivedRequest;
  const fingerprint = requestFingerprint({ method: request.method, target: readTarget(request), body });
  const route = offered?.route ?? { key: `${request.method} ${request.path}` };
  const outcome = await sellingParts.sales.sell({
    payment,
    fingerprint,
    client,
    memory,
    trace: request.trace,
    requirements: offered && findAcceptedOffer(payment, offered.taken()),
    route: route.key,
    work: () => work(request, { payment, address, memory, body, offered }, sellingParts),
  });
  const facts = nameSale(route.key, payment, request.trace);
  // Counts a request without a current route only if it was for an earlier one, so that clients can't make up labels.
  const isKnown = offered !== undefined || outcome.kind === "sold" || outcome.kind === "pending";
  const isReplay = outcome.kind === "sold" && outcome.isReplay === true;
  if (isKnown) sellingParts.metrics.count(route, isReplay ? "replayed" : outcome.kind);
  if (isKnown || (outcome.kind !== "invalid" && outcome.kind !== "other-request"))
    sellingParts.lines.outcome(outcome, facts);
  if (outcome.kind === "sold" || outcome.kind === "declined") {
    openedResources.move();
    void followDelivery(outcome, { outgoing: request.outgoing, memory, facts }, sellingParts);
  }
  const offer = offered && { route: offered.route, url: readUrl(request, sellingParts).href };
  return respondToSale(outcome, offer, request.respondUnsold);
}

function reject(request: SoldRequest, reason: string, sellingParts: Selling): HttpResponse {
  if (request.offered === undefined) return request.respondUnsold();
  const { route } = request.offered;
  sellingParts.metrics.count(route, "invalid");
  return requirePayment(route, readUrl(request, sellingParts).href, reason);
}

/** A completely received paid request, or the response if it buys nothing. */
type Received = Readonly<
  { body: Uint8Array<ArrayBuffer> | undefined; offered: OfferedRoute | undefined } | { response: HttpResponse }
>;

/**
 * Reads the body of a request. Any client can make up a payment, so the body is read only if the payment may buy something here, or already
 * has.
 */
async function receive(
  request: SoldRequest,
  payment: Payment,
  memory: ConnectionMemory,
  sellingParts: Selling,
): Promise<Received> {
  const { incoming, method, path, offered } = request;
  if (method === "GET") return { body: undefined, offered };
  if (offered === undefined || findAcceptedOffer(payment, offered.taken()) === undefined) {
    const isKnown = await sellingParts.sales.hasSold(payment);
    if (isKnown === false) return { response: reject(request, noOffer, sellingParts) };
    if (isKnown !== true) return { response: respondWithoutOffer(isKnown) };
  }
  const body = await readHeldRequest(incoming, sellingParts.bodyLimitBytes, memory);
  if (body === undefined) return { response: respondWithoutOffer({ kind: "busy" }) };
  // A client may send its body slowly; the offers at the end of the body apply.
  return { body, offered: sellingParts.find(method, path) };
}

type Purchase = Readonly<{
  payment: Payment;
  address: string;
  memory: ConnectionMemory;
  body: Uint8Array<ArrayBuffer> | undefined;
  offered: OfferedRoute | undefined;
}>;

async function work(
  request: SoldRequest,
  { payment, address, memory, body, offered }: Purchase,
  sellingParts: Selling,
): Promise<UpstreamResult> {
  if (offered === undefined) return { kind: "failed", status: 503, message: "the route is no longer sold" };
  const { route } = offered;
  const url = readUrl(request, sellingParts);
  const protocol = url.protocol === "https:" ? ("https" as const) : ("http" as const);
  const origin = { clientAddress: address, protocol, host: url.host, ...request.trace };
  const { payer } = payment.key;
  const paid = { route, target: readTarget(request), headers: request.incoming.headers, body, origin, memory, payer };
  const result = await sellingParts.metrics.timeUpstream(route, () => sellingParts.work(paid));
  sellingParts.upstreams.record(route, result);
  memory.release(body?.buffer.byteLength ?? 0);
  return result;
}

function readTarget({ incoming: { url = "" } }: SoldRequest): string {
  return url;
}

/** Builds the absolute URL of a request for a sold route; other paths may not form a valid URL. */
function readUrl(request: SoldRequest, { publicUrl }: Selling): URL {
  return new URL(readTarget(request), publicUrl ?? request.url);
}

function findAddress({ socket, headers }: IncomingMessage, client: ClientAddress): string {
  if (socket.remoteAddress === undefined) return "unknown";
  return client.of(socket.remoteAddress, readForwardedFor(headers));
}
