import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { requestId, type RequestIdVariables } from "hono/request-id";
import { routePath } from "hono/route";
import type { Registry } from "prom-client";
import { createBoundedLog } from "../log/bounded-log.ts";
import { BodyTooLargeError, discardBody } from "../bytes.ts";
import type { Logger } from "../log/log.ts";
import type { Mask } from "../secrets/mask.ts";
import { createRequestMeter } from "./request-meter.ts";
import { startTrace, formatTraceInfo } from "./request-trace.ts";
import { readTraceContext, type TraceContext } from "./trace-context.ts";

/** Variables in every handler's context. */
export type AppVariables = {
  Variables: RequestIdVariables & {
    /** The client's trace context, or a new one. */
    trace: TraceContext;
    /** The route's name for metrics and logs, for a handler that serves many routes that Hono doesn't know. */
    route?: string;
  };
};

/** Limits on draining a body that was rejected because of its size. */
const discardLimits = { bytesMax: 16_777_216, deadlineMs: 2_000 } as const;

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
  const lines = createBoundedLog(log);
  app.use(requestId());
  app.use((c, next) => {
    c.set("trace", readTraceContext(c.req.header("traceparent"), c.req.header("tracestate")) ?? startTrace());
    return next();
  });
  if (metrics !== undefined) app.use(measureRequests(metrics));
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
    if (hasLeft(c)) {
      log.debug({ err: error }, "a client went in the middle of its request");
      // The client never reads this response; metrics count it as a client error.
      return c.body(null, 400);
    }
    lines.error(
      {
        event: "request-failed",
        err: error,
        ...formatTraceInfo({ requestId: c.get("requestId"), trace: c.get("trace") }),
        route: c.get("route") ?? routePath(c, -1),
      },
      "request failed",
    );
    return c.json({ error: "internal error", requestId: c.get("requestId") }, 500);
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
  return c.json({ error: `body larger than ${limitBytes} bytes; send less` }, 413, headers);
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
    const error = `this host is not served here: ${host ?? "none"}; use an address, or add its name to allowedHosts`;
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
function measureRequests(metrics: Registry): MiddlewareHandler<AppVariables> {
  const meter = createRequestMeter(metrics);
  return async (c, next) => {
    const end = meter.start();
    await next();
    end({ method: c.req.method, route: c.get("route") ?? routePath(c, -1), status: c.res.status });
  };
}
