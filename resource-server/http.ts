import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import type { Context } from "hono";
import { boundedLog, boundOfSales, type BoundedLog } from "#daemon/bounded-log.ts";
import { within } from "#daemon/time.ts";
import type { App, AppVariables } from "#daemon/http/app.ts";
import type { Logger } from "#daemon/log.ts";
import type { ClientAddress } from "#daemon/http/proxies/client-address.ts";
import { forwardedBy } from "#daemon/http/proxies/forwarded-hops.ts";
import type { Scheme } from "#x402/scheme.ts";
import { paymentRequired, saleAnswer } from "./payment-answers.ts";
import { acceptedOffer, readPayment } from "./sale/payment.ts";
import type { PaymentMetrics } from "./sale/payment-metrics.ts";
import { requestFingerprint } from "./claims/payment-claim.ts";
import type { LiveRoutes } from "./routes/live-routes.ts";
import type { Route } from "./routes/route.ts";
import type { Delivery, SaleOutcome } from "./sale/sale-outcome.ts";
import type { SaleRequest } from "./sale/sale.ts";
import type { PaidRequest, UpstreamResult } from "./upstream/upstream.ts";

/** What paid routes work with. */
export type PaidRoutesDependencies = Readonly<{
  sell: (request: SaleRequest) => Promise<SaleOutcome>;
  /** Does what a request is for that this account has paid. */
  work: (request: PaidRequest, payer: string) => Promise<UpstreamResult>;
  metrics: PaymentMetrics;
  log: Logger;
}>;

/** What is sold, and how it is delivered. */
export type PaidRoutesOptions = Readonly<{
  routes: Pick<LiveRoutes, "find" | "taken">;
  publicUrl: string | undefined;
  /** How long a client may take to receive a response that it bought. */
  deliveryTimeoutMs: number;
  /** Whose address requests come from. */
  client: ClientAddress;
  /** The schemes that payments are read by. Default: all that are known. */
  schemes?: readonly Scheme[];
}>;

/** The parts of `node:http` that the listener hands to each request. */
type NodeBindings = Readonly<{ incoming: IncomingMessage; outgoing: ServerResponse }>;

/**
 * Adds the routes that are sold, which may change at any time. A request is served only when method and path, byte for byte as they came, are
 * those of a route; the upstream is reached from here alone, so that no other spelling of a path gets around the payment.
 */
export function paidRoutes(app: App, options: PaidRoutesOptions, dependencies: PaidRoutesDependencies): void {
  const { routes, deliveryTimeoutMs, client, schemes } = options;
  const { log } = dependencies;
  const serving = { ...dependencies, lines: { sales: boundedLog(log, boundOfSales), others: boundedLog(log), log } };
  app.all("*", async (c) => {
    const { incoming } = bindingsOf(c);
    const target = incoming.url ?? "";
    const route = routes.find(c.req.method === "HEAD" ? "GET" : c.req.method, c.req.path);
    if (route === undefined) return c.notFound();
    c.set("route", route.path);
    if (incoming.method !== route.method || target.split("?", 1)[0] !== route.path) return c.notFound();
    const url = new URL(target, options.publicUrl ?? c.req.url).href;
    const offers = routes.taken(route);
    return serve(c, { route, offers, target, url, deliveryTimeoutMs, client, schemes }, serving);
  });
}

type Ordered = Readonly<{
  route: Route;
  /** The offers that a payment may accept. */
  offers: Route["accepts"];
  target: string;
  url: string;
  deliveryTimeoutMs: number;
  client: ClientAddress;
  schemes: readonly Scheme[] | undefined;
}>;

async function serve(
  c: Context<AppVariables>,
  { route, offers, target, url, deliveryTimeoutMs, client, schemes }: Ordered,
  dependencies: PaidRoutesDependencies & Readonly<{ lines: SaleLines }>,
): Promise<Response> {
  const { sell, work, metrics, lines } = dependencies;
  const refuse = (outcome: "unpaid" | "invalid", reason: string) => {
    metrics.count(route, outcome);
    return paymentRequired(route, url, reason);
  };
  const header = c.req.header("PAYMENT-SIGNATURE");
  if (header === undefined) return refuse("unpaid", "PAYMENT-SIGNATURE header is required");
  const reading = readPayment(header, schemes);
  if (!reading.ok) return refuse("invalid", `invalid_payload: ${reading.message}`);

  const body = route.method === "GET" ? undefined : new Uint8Array(await c.req.arrayBuffer());
  const origin = {
    clientAddress: clientAddressOf(bindingsOf(c).incoming, client),
    protocol: new URL(url).protocol === "https:" ? ("https" as const) : ("http" as const),
    host: new URL(url).host,
    requestId: c.get("requestId"),
  };
  const outcome = await sell({
    payment: reading.payment,
    requirements: acceptedOffer(reading.payment, offers),
    route: route.key,
    fingerprint: requestFingerprint({ method: route.method, target, body }),
    work: () =>
      metrics.timeUpstream(route, () =>
        work({ route, target, headers: c.req.raw.headers, body, origin }, reading.payment.key.payer),
      ),
  });
  metrics.count(route, outcome.kind);
  const facts = { route: route.key, requestId: c.get("requestId"), payer: reading.payment.key.payer };
  logOutcome(lines, facts, outcome);
  if (outcome.kind === "sold") {
    void conclude(outcome.delivery, { outgoing: bindingsOf(c).outgoing, deliveryTimeoutMs }, lines.others);
  }
  return saleAnswer(route, url, outcome);
}

/** Lines about requests: anybody can have payments refused, and who has paid can have the same sale told again, any number of times. */
type SaleLines = Readonly<{ sales: BoundedLog; others: BoundedLog; log: Logger }>;

type Sending = Readonly<{ outgoing: ServerResponse; deliveryTimeoutMs: number }>;

/** Ends a delivery when all of the response was handed to the network, the connection is gone, or the time is over. */
async function conclude(delivery: Delivery, sending: Sending, lines: BoundedLog): Promise<void> {
  const { outgoing, deliveryTimeoutMs } = sending;
  try {
    await within("the delivery", deliveryTimeoutMs, finished(outgoing, { readable: false }));
  } catch (error) {
    outgoing.destroy();
    lines.warn({ err: error }, "the client did not take its response; the same payment gets it again");
    return record(delivery.undelivered(), lines);
  }
  return record(delivery.delivered(), lines);
}

async function record(end: Promise<void>, lines: BoundedLog): Promise<void> {
  try {
    await end;
  } catch (error) {
    lines.error(
      { err: error },
      "the end of a delivery can't be recorded; the same payment could get its response again",
    );
  }
}

function logOutcome({ sales, others, log }: SaleLines, facts: object, outcome: SaleOutcome): void {
  switch (outcome.kind) {
    case "sold":
      return sales.info({ ...facts, transaction: outcome.settlement.transaction }, "sold");
    case "pending":
      return sales.warn({ ...facts, transaction: outcome.settlement.transaction }, "settlement pending");
    case "no-verdict":
      return others.warn({ ...facts, cause: outcome.cause.message }, "no verdict of the facilitator");
    case "no-ledger":
      return others.warn({ ...facts, cause: outcome.cause.message }, "the ledger could not be used");
    case "failed":
      return others.warn({ ...facts, cause: outcome.message }, "nothing to sell");
    case "invalid":
      return others.info({ ...facts, reason: outcome.reason }, "payment refused");
    default:
      return log.debug({ ...facts, outcome: outcome.kind }, "payment not taken");
  }
}

function clientAddressOf({ socket, headers }: IncomingMessage, client: ClientAddress): string {
  if (socket.remoteAddress === undefined) return "unknown";
  return client.of(socket.remoteAddress, client.told(forwardedBy(headers)));
}

function bindingsOf(c: Context): NodeBindings {
  return c.env as NodeBindings;
}
