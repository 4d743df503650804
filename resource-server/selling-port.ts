import type { IncomingMessage, ServerResponse } from "node:http";
import { cors } from "hono/cors";
import { METHOD_NAME_ALL } from "hono/router";
import type { Registry } from "prom-client";
import type { App } from "#daemon/http/app.ts";
import { discardLimits, discardRequest, rejectLargeBody } from "#daemon/http/held-body.ts";
import { createRequestReports } from "#daemon/http/request-reports.ts";
import { readRequestTrace, type RequestTrace } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { FindOfferedRoute } from "./facilitators/completed-offers.ts";
import { respondNoRoute, type Answer } from "./payment-answers.ts";
import { routeMethods } from "./routes/route.ts";
import type { ServeSold, SoldRequest } from "./sold-request.ts";

/** `node:http` objects that the listener passes with each request. */
export type NodeBindings = Readonly<{ incoming: IncomingMessage; outgoing: ServerResponse }>;

/** Serves the requests on the selling port. */
export type SellingPort = Readonly<{
  fetch: (request: Request, bindings: NodeBindings) => Response | Promise<Response>;
}>;

type SellingPortDependencies = Readonly<{
  find: FindOfferedRoute;
  serveSold: ServeSold;
  /** Larger bodies get a 413 response. */
  bodyLimitBytes: number;
  /** Must be the application's: all requests count in one metric. */
  metrics: Registry;
  log: Logger;
}>;

/**
 * Serves requests for sold routes, and those with a payment, without the application, whose middleware costs more than
 * a request for payment. All other requests reach the application, whose own routes must already exist; this function
 * adds its 404 and 405 handlers. Client, log and metrics get the same either way.
 */
export function createSellingPort(
  app: App,
  { find, serveSold, bodyLimitBytes, metrics, log }: SellingPortDependencies,
): SellingPort {
  const reports = createRequestReports({ log, metrics });
  const listMethods = (path: string) => {
    const sold = routeMethods.filter((method) => find(method, path) !== undefined);
    return sold.length === 0 ? [] : [...(sold.includes("GET") ? ["HEAD"] : []), ...sold, "OPTIONS"];
  };
  const answerUnsold = (method: string, path: string) => respondNoRoute(method, path, listMethods(path));
  const ownPaths = new Set(app.routes.filter(({ method }) => method !== METHOD_NAME_ALL).map(({ path }) => path));
  app.all("*", (c) => {
    const { incoming } = c.env as NodeBindings;
    const { body, ...init } = answerUnsold(c.req.method, readPath(incoming));
    return new Response(body, init);
  });

  const serve = (
    request: Omit<SoldRequest, "trace" | "answerUnsold">,
    finish: (answer: Answer, trace: RequestTrace) => Response,
  ): Response | Promise<Response> => {
    const { incoming, path, offered } = request;
    const trace = readRequestTrace(incoming.headers);
    const fail = async (error: unknown) => {
      const { status, body } = reports.answerError(error, trace, offered?.route.path ?? unsold);
      const isWhole = incoming.complete || (await discardRequest(incoming, discardLimits));
      const headers = { "content-type": "application/json", ...(isWhole ? {} : { connection: "close" }) };
      return finish({ status, headers, body: JSON.stringify(body) }, trace);
    };
    try {
      rejectLargeBody(incoming, bodyLimitBytes);
      const answer = serveSold({ ...request, trace, answerUnsold: () => answerUnsold(incoming.method ?? "", path) });
      if (!(answer instanceof Promise)) return finish(answer, trace);
      return answer.then((late) => finish(late, trace)).catch(fail);
    } catch (error) {
      return fail(error);
    }
  };
  return {
    fetch: (request, bindings) => {
      const { incoming } = bindings;
      const isHead = incoming.method === "HEAD";
      const method = isHead ? "GET" : routeMethods.find((known) => known === incoming.method);
      const path = readPath(incoming);
      const offered = method && find(method, path);
      // A client may send a payment with every request.
      const isPaid = !isHead && incoming.headers["payment-signature"] !== undefined && !ownPaths.has(path);
      if (method === undefined || (offered === undefined && !isPaid)) return app.fetch(request, bindings);
      const end = reports.start();
      return serve({ ...bindings, method, path, offered, url: request.url }, ({ status, headers, body }, trace) => {
        end({ method: incoming.method ?? "", route: offered?.route.path ?? unsold, status });
        const all = { ...otherOriginHeaders, "x-request-id": trace.requestId, ...headers };
        return new Response(isHead ? null : body, { status, headers: all });
      });
    },
  };
}

/** Route label of a request that matches no route, in metrics and logs, as in Hono. */
const unsold = "/*";

/** Response headers that a page of another origin may read, in addition to those that the Fetch standard lists as safe. */
const exposedHeaders = [
  "PAYMENT-REQUIRED",
  "PAYMENT-RESPONSE",
  "Allow",
  "Content-Disposition",
  "ETag",
  "Link",
  "Location",
  "Retry-After",
  "X-Request-Id",
];

/**
 * Allows pages of every origin to buy: only the payment counts, and no cookie is set. Preflights also succeed for paths
 * that are not for sale, so that a page can collect its purchase from a removed route, and can read a 404. All
 * requested request headers are allowed, because `@x402/fetch` sends more than the payment.
 */
export const allowOtherOrigins = cors({
  allowMethods: ["HEAD", ...routeMethods],
  exposeHeaders: exposedHeaders,
  maxAge: 600,
});

/** The headers that it adds to a response, by name in lower case. */
const otherOriginHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposedHeaders.join(","),
} as const;

function readPath({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}
