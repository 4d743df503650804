import type { Histogram, Registry } from "prom-client";
import type { App } from "#daemon/http/app.ts";
import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import { formatTraceInfo } from "#daemon/http/request-trace.ts";
import type { ServeSold } from "./http.ts";
import { answerNoRoute, otherOriginHeaders } from "./other-requests.ts";
import type { Answer } from "./payment-answers.ts";
import type { LiveRoutes } from "./routes/live-routes.ts";
import { routeMethods } from "./routes/route.ts";
import { getBindings, readRequestId, readTrace, type NodeBindings } from "./selling-request.ts";

/** Adds the routes for sale to an application. */
export function addPaidRoutes(app: App, routes: Pick<LiveRoutes, "find">, serveSold: ServeSold): void {
  app.all("*", async (c) => {
    const { incoming, outgoing } = getBindings(c);
    const { method, url: target = "" } = incoming;
    const isHead = method === "HEAD";
    const named = routes.find(isHead ? "GET" : c.req.method, c.req.path);
    if (named !== undefined) c.set("route", named.path);
    const sold = isHead ? "GET" : routeMethods.find((known) => known === method);
    const noRoute = (headers: Readonly<Record<string, string>> = {}) => {
      for (const [name, value] of Object.entries(headers)) c.header(name, value);
      return answerNoRoute(c, target, routes);
    };
    if (sold === undefined) return noRoute();
    const trace = () => ({ requestId: c.get("requestId"), trace: c.get("trace") });
    const request = { incoming, outgoing, url: c.req.url, trace, body: () => c.req.raw.body, answerNoRoute: noRoute };
    const answer = await serveSold(request, sold);
    return answer instanceof Response ? answer : new Response(answer.body, answer);
  });
}

/** Dependencies of the short way; `metrics` has the application's measurements. */
type ShortWay = Readonly<{ serveSold: ServeSold; metrics: Registry; log: Logger }>;

/**
 * Serves GET of a sold route, without a body, past the application and its middleware, which cost more than a request for payment; all
 * other requests reach the application. What a client, the log and the metrics get is the same either way.
 */
export function servePast(
  app: Pick<App, "fetch">,
  { find }: Pick<LiveRoutes, "find">,
  { serveSold, metrics, log }: ShortWay,
) {
  const duration = metrics.getSingleMetric("gatehouse_http_request_duration_seconds") as Histogram;
  const lines = createBoundedLog(log);
  return {
    fetch(request: Request, env: NodeBindings): Response | Promise<Response> {
      const { incoming, outgoing } = env;
      const { headers, method, url: target = "" } = incoming;
      const isBare = headers["content-length"] === undefined && headers["transfer-encoding"] === undefined;
      const route = method === "GET" && isBare ? find("GET", target.split("?", 1)[0] ?? "") : undefined;
      if (route === undefined) return app.fetch(request, env);
      const beganMs = performance.now();
      const requestId = readRequestId(headers);
      const finish = (answer: Answer | Response): Response => {
        if (answer instanceof Response) return answer;
        const { status, body } = answer;
        duration.observe({ method, route: route.path, status }, (performance.now() - beganMs) / 1_000);
        return new Response(body, {
          status,
          headers: { ...otherOriginHeaders, "x-request-id": requestId, ...answer.headers },
        });
      };
      const fail = (error: unknown): Response => {
        const facts = {
          event: "request-failed",
          err: error,
          ...formatTraceInfo(readTrace(headers, requestId)),
        } as const;
        lines.error({ ...facts, route: route.path }, "request failed");
        const body = JSON.stringify({ error: "internal error", requestId });
        return finish({ status: 500, headers: { "content-type": "application/json" }, body });
      };
      const trace = () => readTrace(headers, requestId);
      const noRoute = () => app.fetch(request, env);
      try {
        const asked = { incoming, outgoing, url: request.url, trace, body: () => null, answerNoRoute: noRoute };
        const answer = serveSold(asked, "GET");
        return answer instanceof Promise ? answer.then(finish).catch(fail) : finish(answer);
      } catch (error) {
        return fail(error);
      }
    },
  };
}
