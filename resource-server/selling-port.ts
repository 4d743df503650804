import type { IncomingMessage, ServerResponse } from "node:http";
import { cors } from "hono/cors";
import { METHOD_NAME_ALL } from "hono/router";
import type { Registry } from "prom-client";
import type { App } from "#daemon/http/app.ts";
import { discardLimits, discardRequest, rejectLargeBody } from "#daemon/http/held-body.ts";
import { createRequestReports } from "#daemon/http/request-reports.ts";
import { readRequestTrace } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { FindOfferedRoute } from "./facilitators/completed-offers.ts";
import { respondNoRoute, type HttpResponse } from "./payment-answers.ts";
import { routeMethods } from "./routes/route.ts";
import type { ServeSold } from "./sold-request.ts";

export type NodeBindings = Readonly<{ incoming: IncomingMessage; outgoing: ServerResponse }>;

type SellingPortParts = Readonly<{
  find: FindOfferedRoute;
  serveSold: ServeSold;
  bodyLimitBytes: number;
  metrics: Registry;
  log: Logger;
}>;

/**
 * Creates the handler of the selling port. It serves requests for sold routes, and those with a payment, itself, because the application's
 * middleware costs more than a request for payment. All other requests reach the application, whose own routes must already exist; this
 * function adds its 404 and 405 handlers. Responses, log and metrics are the same either way. `metrics` must be the application's.
 */
export function createSellingPort(app: App, { find, serveSold, bodyLimitBytes, ...reporting }: SellingPortParts) {
  const reports = createRequestReports(reporting);
  const respondUnsold = (method: string, path: string) => {
    const soldMethods = listSoldMethods(find, path);
    return respondNoRoute(method, path, soldMethods.length === 0 ? [] : [...soldMethods, "OPTIONS"]);
  };
  const ownPaths = new Set(app.routes.filter(({ method }) => method !== METHOD_NAME_ALL).map(({ path }) => path));
  app.all("*", (c) => {
    const { incoming } = c.env as NodeBindings;
    const { body, ...init } = respondUnsold(c.req.method, readPath(incoming));
    return new Response(body, init);
  });
  return {
    fetch: (request: Request, bindings: NodeBindings): Response | Promise<Response> => {
      const { incoming } = bindings;
      const { method: requestedMethod = "" } = incoming;
      const isHead = requestedMethod === "HEAD";
      const method = isHead ? "GET" : routeMethods.find((routeMethod) => routeMethod === requestedMethod);
      const path = readPath(incoming);
      const offeredRoute = method && find(method, path);
      // A client may send a payment with every request.
      const isPaid = !isHead && incoming.headers["payment-signature"] !== undefined && !ownPaths.has(path);
      if (method === undefined || (offeredRoute === undefined && !isPaid)) return app.fetch(request, bindings);
      const end = reports.start();
      const trace = readRequestTrace(incoming.headers);
      const route = offeredRoute?.route.path ?? unsold;
      const finish = ({ status, headers, body }: HttpResponse): Response => {
        end({ method: requestedMethod, route, status });
        const all = { ...otherOriginHeaders, "x-request-id": trace.requestId, ...headers };
        return new Response(isHead ? null : body, { status, headers: all });
      };
      const fail = async (error: unknown): Promise<Response> => {
        const { status, body } = reports.answerError(error, trace, route);
        const isComplete = incoming.complete || (await discardRequest(incoming, discardLimits));
        const headers = { "content-type": "application/json", ...(isComplete ? {} : { connection: "close" }) };
        return finish({ status, headers, body: JSON.stringify(body) });
      };
      try {
        rejectLargeBody(incoming, bodyLimitBytes);
        const soldRequest = { ...bindings, method, path, offered: offeredRoute, url: request.url, trace };
        const response = serveSold({ ...soldRequest, respondUnsold: () => respondUnsold(requestedMethod, path) });
        return response instanceof Promise ? response.then(finish).catch(fail) : finish(response);
      } catch (error) {
        return fail(error);
      }
    },
  };
}

function listSoldMethods(find: FindOfferedRoute, path: string): readonly string[] {
  const soldMethods = routeMethods.filter((each) => find(each, path) !== undefined);
  return soldMethods.includes("GET") ? ["HEAD", ...soldMethods] : soldMethods;
}

/** Route label of a request that matches no route, in metrics and logs, as in Hono. */
const unsold = "/*";

/** Response headers that a page of another origin may read, in addition to those that the Fetch standard lists as safe. */
const exposedHeaders =
  "PAYMENT-REQUIRED PAYMENT-RESPONSE Allow Content-Disposition ETag Link Location Retry-After X-Request-Id".split(" ");

/**
 * Allows pages from any origin to make purchases: only the payment counts, and no cookie is set. Preflights also succeed for paths that are
 * not for sale, so that a page can get its purchase from a removed route, and can read a 404.
 */
export function allowOtherOrigins(find: FindOfferedRoute) {
  return cors({
    allowMethods: (_origin, c) => {
      const sold = listSoldMethods(find, readPath((c.env as NodeBindings).incoming));
      return sold.length === 0 ? ["HEAD", ...routeMethods] : [...sold];
    },
    exposeHeaders: exposedHeaders,
    maxAge: 600,
  });
}

const otherOriginHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposedHeaders.join(","),
} as const;

function readPath({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}
