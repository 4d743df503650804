import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { routePath } from "hono/route";
import type { Registry } from "prom-client";
import { BodyTooLargeError, discardBody } from "../bytes.ts";
import type { Logger } from "../log/log.ts";
import type { Mask } from "../secrets/mask.ts";
import { ClientGoneError, discardLimits } from "./held-body.ts";
import { createRequestReports, describeLargeBody, type RequestReports } from "./request-reports.ts";
import { chooseRequestId, startTrace, readTraceContext, type TraceContext } from "./request-trace.ts";

/** Variables in every handler's context. */
export type AppVariables = {
  Variables: {
    requestId: string;
    /** The client's trace context, or a new one. */
    trace: TraceContext;
  };
};

/** A service's HTTP application. */
export type App = Hono<AppVariables>;

export type AppOptions = Readonly<{
  /** Larger bodies get a 413 response. */
  bodyLimitBytes: number;
  /** Path whose response is compressed for clients that accept compression. */
  compressed?: string;
  /** Checks whether a Host header is accepted; others get a 403 response. If absent, all are accepted. */
  isAllowedHost?: (header: string | undefined) => boolean;
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

/**
 * Creates a Hono application in which every request has an id (`X-Request-Id`, reused from the client if well-formed), a limited body and a
 * measurement in `gatehouse_http_request_duration_seconds`; unknown routes get a JSON `{error}`.
 */
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
  if (options.compressed !== undefined) app.use(options.compressed, compressAnswers());
  if (mask !== undefined) app.use(maskAnswers(mask));
  if (options.isAllowedHost !== undefined) app.use(createHostCheck(options.isAllowedHost));
  app.use(limitBodies(options.bodyLimitBytes));
  app.notFound((c) => c.json({ error: `no such route: ${c.req.method} ${c.req.path}` }, 404));
  app.onError((error, c) => {
    // Thrown by Hono's own middleware to reject a request.
    if (error instanceof HTTPException) return error.getResponse();
    if (error instanceof BodyTooLargeError) return rejectBody(c, options.bodyLimitBytes);
    const cause = hasLeft(c) ? new ClientGoneError(error.message, { cause: error }) : error;
    const trace = { requestId: c.get("requestId"), trace: c.get("trace") };
    const { status, body } = reports.answerError(cause, trace, routePath(c, -1));
    return c.json(body, status);
  });
  return app;
}

/**
 * Limits bodies without reading them, so that a handler can reject a request by its headers first: a body with a Content-Length is checked
 * at once, a chunked body while the handler reads it.
 */
function limitBodies(limitBytes: number): MiddlewareHandler<AppVariables> {
  return async (c, next) => {
    const length = c.req.header("Content-Length");
    if (length !== undefined && c.req.header("Transfer-Encoding") === undefined) {
      return Number(length) > limitBytes ? rejectBody(c, limitBytes) : next();
    }
    const { body } = c.req.raw;
    if (body === null) return next();
    let readBytes = 0;
    const limited = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        readBytes += chunk.byteLength;
        if (readBytes > limitBytes) controller.error(new BodyTooLargeError(limitBytes));
        else controller.enqueue(chunk);
      },
    });
    c.req.raw = new Request(c.req.raw, { method: c.req.method, body: body.pipeThrough(limited), duplex: "half" });
    await next();
    // Replaces the response that the handler made from the truncated body.
    if (readBytes > limitBytes) c.res = await rejectBody(c, limitBytes);
    return undefined;
  };
}

async function rejectBody(c: Context<AppVariables>, limitBytes: number): Promise<Response> {
  const whole = await discardBody(c.req.raw.body, discardLimits);
  const headers: Record<string, string> = whole ? {} : { Connection: "close" };
  return c.json(describeLargeBody(limitBytes), 413, headers);
}

/** Checks whether the client disconnected before its request was complete. A request that did not arrive over a socket has no client. */
function hasLeft({ env }: Context<AppVariables>): boolean {
  const { incoming } = (env ?? {}) as Partial<HttpBindings>;
  return incoming !== undefined && incoming.destroyed && !incoming.complete;
}

/** Responds with 403 to a Host header that is not accepted. */
function createHostCheck(
  isAllowedHost: (header: string | undefined) => boolean,
): MiddlewareHandler<AppVariables, string> {
  return (c, next) => {
    const host = c.req.header("Host");
    if (isAllowedHost(host)) return next();
    const error = `the host ${host ?? "(none)"} is not allowed; use an IP address, or add the name to allowedHosts`;
    return Promise.resolve(c.json({ error }, 403));
  };
}

/** RFC 9110, section 12.5.3: gzip, with a weight that is not 0. */
const acceptsGzip = /(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=(?:1|0?\.0*[1-9])[\d.]*)?\s*(?:,|$)/i;
const compress = promisify(gzip);

/** Compresses responses at the lowest level, one at a time: while one is being compressed, other clients get theirs uncompressed. */
function compressAnswers(): MiddlewareHandler<AppVariables> {
  let isBusy = false;
  return async (c, next) => {
    await next();
    c.res.headers.append("Vary", "Accept-Encoding");
    if (isBusy || c.res.status !== 200 || !acceptsGzip.test(c.req.header("Accept-Encoding") ?? "")) return;
    isBusy = true;
    try {
      const body = await compress(await c.res.arrayBuffer(), { level: constants.Z_BEST_SPEED });
      c.res = new Response(new Uint8Array(body), c.res);
      c.res.headers.delete("Content-Length");
      c.res.headers.set("Content-Encoding", "gzip");
    } finally {
      isBusy = false;
    }
  };
}

/** Media types of text responses. */
const textType = /^(?:text\/|application\/(?:json|openmetrics-text))/;

/** Masks secrets in each text response. */
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

/** Measures the duration of each request. */
function measureRequests(reports: RequestReports): MiddlewareHandler<AppVariables> {
  return async (c, next) => {
    const end = reports.start();
    await next();
    end({ method: c.req.method, route: routePath(c, -1), status: c.res.status });
  };
}
