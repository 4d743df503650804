import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { HTTPException } from "hono/http-exception";
import { methodNotAllowed } from "hono/method-not-allowed";
import { routePath } from "hono/route";
import type { Registry } from "prom-client";
import { discardBody } from "../bytes.ts";
import type { Logger } from "../log/log.ts";
import type { Mask } from "../secrets/mask.ts";
import { ClientGoneError, discardLimits } from "./held-body.ts";
import { createRequestReports, describeLargeBody, type RequestReports } from "./request-reports.ts";
import { chooseRequestId, startTrace, readTraceContext, type TraceContext } from "./request-trace.ts";

export type AppVariables = {
  Variables: {
    requestId: string;
    trace: TraceContext;
  };
};

export type App = Hono<AppVariables>;

type AllowedHostCheck = Readonly<{ isAllowed: (header: string | undefined) => boolean; setting: string }>;

export type AppOptions = Readonly<{
  /** Larger bodies get a 413 response; smaller ones are buffered, whatever their route. Default: 8 KiB. */
  bodyLimitBytes?: number;
  /** Path whose response is compressed for clients that accept compression. */
  compressed?: string;
  /** Whether the service's page is on another port, which the 404 of `/` mentions. */
  hasAdminPort?: boolean;
  /** Checks whether a Host header is accepted; others get a 403 response, which names the setting. If absent, all are accepted. */
  hosts?: AllowedHostCheck;
  /** CORS middleware; if absent, pages from other origins can't read responses. */
  crossOrigin?: MiddlewareHandler;
}>;

export type AppDependencies = Readonly<{
  log: Logger;
  /** Registers `gatehouse_http_request_duration_seconds`; absent: requests are not measured. */
  metrics?: Registry;
  /** Masks secrets in text responses; absent where the process sells its responses as the product. */
  mask?: Mask;
}>;

/** Returns the error for an unknown route; at `/` of a service with an admin port, it says where the service's page is. */
export function describeMissingRoute(method: string, path: string, hasAdminPort = false): string {
  const error = `no such route: ${method} ${path}`;
  return hasAdminPort && path === "/" ? `${error}; the service's page is on its admin port` : error;
}

/** Returns the content of a 405 for a path that serves only these methods. */
export function describeAllowedMethods(methods: readonly string[]) {
  const allowed = methods.join(", ");
  return { body: { error: `this path supports ${allowed}` }, headers: { Allow: allowed } } as const;
}

/** Creates a Hono application that identifies, limits and measures requests; unknown routes and methods get a JSON `{error}`. */
export function createApp(options: AppOptions, { log, metrics, mask }: AppDependencies): App {
  const app: App = new Hono<AppVariables>();
  const reports = createRequestReports({ log, metrics });
  app.use((c, next) => {
    const requestId = chooseRequestId(c.req.header("X-Request-Id"));
    c.set("requestId", requestId);
    c.header("X-Request-Id", requestId);
    c.set("trace", readTraceContext(c.req.header("traceparent"), c.req.header("tracestate")) ?? startTrace());
    return next();
  });
  app.use(measureRequests(reports));
  if (options.crossOrigin !== undefined) app.use(options.crossOrigin);
  // Installed before the mask, which reads the response as text.
  if (options.compressed !== undefined)
    app.use(options.compressed, compress({ encoding: "gzip", contentTypeFilter: textType }));
  if (mask !== undefined) app.use(maskAnswers(mask));
  if (options.hosts !== undefined) app.use(createHostCheck(options.hosts));
  const { bodyLimitBytes: maxSize = 8_192 } = options;
  app.use(bodyLimit({ maxSize, onError: (c) => rejectBody(c, maxSize) }));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: rejectMethod }));
  app.notFound((c) => c.json({ error: describeMissingRoute(c.req.method, c.req.path, options.hasAdminPort) }, 404));
  app.onError((error, c) => {
    // Thrown by Hono's own middleware to reject a request.
    if (error instanceof HTTPException) return error.getResponse();
    const cause = hasDisconnected(c) ? new ClientGoneError(error.message, { cause: error }) : error;
    const trace = { requestId: c.get("requestId"), trace: c.get("trace") };
    const { status, body } = reports.answerError(cause, trace, routePath(c, -1));
    return c.json(body, status);
  });
  return app;
}

function rejectMethod(c: Context, methods: readonly string[]): Response {
  const { body, headers } = describeAllowedMethods(methods);
  return c.json(body, 405, headers);
}

async function rejectBody(c: Context, limitBytes: number): Promise<Response> {
  const whole = await discardBody(c.req.raw.body, discardLimits);
  const headers: Record<string, string> = whole ? {} : { Connection: "close" };
  return c.json(describeLargeBody(limitBytes), 413, headers);
}

/** Checks whether the client disconnected before its request was complete. A request that did not arrive over a socket has no client. */
function hasDisconnected({ env }: Context<AppVariables>): boolean {
  const { incoming } = (env ?? {}) as Partial<HttpBindings>;
  return incoming !== undefined && incoming.destroyed && !incoming.complete;
}

function createHostCheck({ isAllowed, setting }: AllowedHostCheck): MiddlewareHandler<AppVariables, string> {
  return (c, next) => {
    const host = c.req.header("Host");
    if (isAllowed(host)) return next();
    const error = `the host ${host ?? "(none)"} is not allowed; use an IP address, or add the name to ${setting}`;
    return Promise.resolve(c.json({ error }, 403));
  };
}

/** Media types of text responses. */
const textType = /^(?:text\/|application\/(?:json|openmetrics-text))/;

function maskAnswers(mask: Mask): MiddlewareHandler<AppVariables> {
  return async (c, next) => {
    await next();
    if (!textType.test(c.res.headers.get("Content-Type") ?? "")) return;
    const shown = mask.text(await c.res.text());
    const { status, headers } = c.res;
    // Hono copies the headers of the previous response, but the length has changed.
    c.res = new Response(shown, { status, headers });
    c.res.headers.delete("Content-Length");
  };
}

function measureRequests(reports: RequestReports): MiddlewareHandler<AppVariables> {
  return async (c, next) => {
    const end = reports.start();
    await next();
    end({ method: c.req.method, route: routePath(c, -1), status: c.res.status });
  };
}
