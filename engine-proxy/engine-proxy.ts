import { chmodSync, existsSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { Counter, type Registry } from "prom-client";
import { readBodyStart } from "#daemon/bytes.ts";
import { startListening } from "#daemon/http/listening-sockets.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { createSlidingWindow, type SlidingWindow } from "#daemon/sliding-window.ts";
import { createBoundedLog, type BoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { showResponse, decideEngineCall, type EngineCall } from "./engine-call.ts";
import type { EngineProxySettings } from "./settings.ts";

/** Max size of an engine response that is read for filtering; an inspection lists every mount and variable. */
const answerLimitBytes = 1_048_576;

/** Max characters of a rejected call's URL in a log line; a whole URL may have 16 KiB. */
const loggedUrlCharacters = 200;

/** Open connections allowed per permitted in-flight request; further connections are closed. */
const connectionsPerRequest = 4;

export type EngineProxy = AsyncDisposable & Readonly<{ socketPath: string }>;

/** Max exec ids to remember; a caller that has created more no longer needs the oldest. */
const execsMax = 256;

/** Limit of a call that costs the engine or the node something. `reached`: how often it was made; `noun`: what has to wait. */
type CallLimit = Readonly<{ max: number; withinMs: number; calls: SlidingWindow; reached: string; noun: string }>;

type Proxy = Readonly<{
  settings: EngineProxySettings;
  /** Execs created through this proxy: only these may be started or inspected through it. */
  execs: Set<string>;
  limits: Partial<Record<EngineCall["kind"], CallLimit>>;
  enginePath: string;
  log: BoundedLog;
  count: (kind: string) => void;
  metrics: Registry;
}>;

/**
 * Serves a Unix socket that forwards three kinds of request to the Docker Engine (see {@link decideEngineCall}) and responds 403 to
 * everything else, in the Engine API's error shape.
 */
export async function startEngineProxy(
  settings: EngineProxySettings,
  { log, metrics }: Readonly<{ log: Logger; metrics: Registry }>,
): Promise<EngineProxy> {
  const requests = createRequestCounter(metrics);
  const proxy: Proxy = {
    settings,
    execs: new Set(),
    limits: createCallLimits(settings),
    enginePath: settings.engine.slice("unix://".length),
    log: createBoundedLog(log),
    count: (kind) => requests.inc({ kind }),
    metrics,
  };
  let inFlight = 0;
  const { requestTimeoutMs, requestsInFlight, socketPath } = settings.listen;
  const timeouts = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    // How often node:http checks for timeouts; the default is every 30 s.
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
  };
  const server = createServer(timeouts, (incoming, response) => {
    if (inFlight >= requestsInFlight) {
      rejectRequest(response, 503, "too many concurrent requests; try again");
      return;
    }
    inFlight += 1;
    response.once("close", () => (inFlight -= 1));
    answerRequest(proxy, incoming, response).catch((error: unknown) => {
      proxy.log.warn({ event: "engine-call-failed", err: error }, "engine request failed");
      rejectRequest(response, 502, `the Docker Engine at ${settings.engine} did not respond: ${String(error)}`);
    });
  });
  // Idle connections use descriptors too; the sidecar keeps a few.
  server.maxConnections = connectionsPerRequest * requestsInFlight;
  if (existsSync(socketPath)) rmSync(socketPath);
  await startListening(server, { path: socketPath });
  chmodSync(socketPath, 0o660);
  return { socketPath, [Symbol.asyncDispose]: () => close(server) };
}

function createCallLimits({
  container,
  nodeCli,
  restartsPerHour,
  execsPerMinute,
}: EngineProxySettings): Proxy["limits"] {
  return {
    restart: {
      ...openWindow(restartsPerHour, 3_600_000),
      reached: `${container} was restarted ${restartsPerHour} times within an hour (restartsPerHour)`,
      noun: "restart",
    },
    // The engine keeps each exec until it has run, and never removes one that does not run.
    "exec-create": {
      ...openWindow(execsPerMinute, 60_000),
      reached: `${nodeCli} was requested ${execsPerMinute} times within a minute`,
      noun: "run",
    },
  };
}

function openWindow(max: number, withinMs: number) {
  return { max, withinMs, calls: createSlidingWindow(withinMs, () => performance.now()) };
}

function countCall({ max, withinMs, calls, reached, noun }: CallLimit): string | undefined {
  const [oldestMs] = calls.times();
  if (oldestMs === undefined || calls.times().length < max) {
    calls.add();
    return undefined;
  }
  const waitSeconds = Math.ceil((oldestMs + withinMs - performance.now()) / 1_000);
  return `${reached}; the next ${noun} is allowed in ${waitSeconds} s`;
}

async function answerRequest(proxy: Proxy, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  if (incoming.method === "GET" && incoming.url === operatorPaths.live) {
    response.writeHead(200, { "Content-Type": "application/json" }).end('{"status":"ok"}\n');
    return;
  }
  if (incoming.method === "GET" && incoming.url === "/metrics") {
    const body = await proxy.metrics.metrics();
    response.writeHead(200, { "Content-Type": proxy.metrics.contentType }).end(body);
    return;
  }
  // Keeps the connection open when the body is too large, so that the rejection can still be sent.
  const stream = incoming.iterator({ destroyOnReturn: false });
  const { bytes, isTruncated } = await readBodyStart(stream, proxy.settings.listen.bodyLimitBytes);
  if (isTruncated) {
    proxy.count("rejected");
    rejectRequest(response, 413, `the body is larger than ${proxy.settings.listen.bodyLimitBytes} bytes`);
    return;
  }
  const decision = decideEngineCall(
    { method: incoming.method ?? "", url: incoming.url ?? "", body: new TextDecoder().decode(bytes) },
    { ...proxy.settings, isKnownExec: (id) => proxy.execs.has(id) },
  );
  if ("rejected" in decision) {
    proxy.count("rejected");
    const url = incoming.url?.slice(0, loggedUrlCharacters);
    proxy.log.warn(
      { event: "engine-call-rejected", method: incoming.method, url, reason: decision.rejected },
      "rejected",
    );
    rejectRequest(response, 403, decision.rejected);
    return;
  }
  const limit = proxy.limits[decision.call.kind];
  const reason = limit && countCall(limit);
  if (reason !== undefined) {
    proxy.count("rejected");
    proxy.log.warn({ event: "engine-call-rejected", reason }, "rejected");
    rejectRequest(response, 429, reason);
    return;
  }
  proxy.count(decision.call.kind);
  await answerFromEngine(proxy, decision.call, response);
}

/** Gets the engine's response, which must be forwarded completely within `answerTimeoutMs`: one that trickles in byte by byte fails. */
async function answerFromEngine(proxy: Proxy, call: EngineCall, response: ServerResponse): Promise<void> {
  const { answerTimeoutMs } = proxy.settings;
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error(`no response within ${answerTimeoutMs} ms`)), answerTimeoutMs);
  response.once("close", () => {
    clearTimeout(timer);
    over.abort();
  });
  await relay(proxy, call, response, over.signal).catch((error: unknown) => {
    throw over.signal.reason ?? error;
  });
}

/** Sends a call and responds with what the caller may see: a program's output is streamed, everything else filtered ({@link showResponse}). */
async function relay(proxy: Proxy, call: EngineCall, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const answer = await sendRequest({
    url: `http://docker${call.path}`,
    socketPath: proxy.enginePath,
    method: call.method,
    headers: call.body === undefined ? {} : { "Content-Type": "application/json" },
    body: call.body,
    signal,
  });
  const status = answer.statusCode ?? 502;
  if (call.kind === "exec-start" && status < 400) {
    const type = answer.headers["content-type"];
    response.writeHead(status, type === undefined ? {} : { "Content-Type": type });
    response.flushHeaders();
    await pipeline(answer, response);
    return;
  }
  const { bytes, isTruncated } = await readBodyStart(answer, answerLimitBytes);
  if (bytes.length === 0) {
    response.writeHead(status).end();
    return;
  }
  const shown = isTruncated ? undefined : showResponse(call.kind, status, new TextDecoder().decode(bytes));
  if (shown === undefined) {
    rejectRequest(
      response,
      502,
      `the Docker Engine at ${proxy.settings.engine} responded to ${call.kind} in an unexpected form`,
    );
    return;
  }
  if (call.kind === "exec-create" && typeof shown["Id"] === "string") {
    proxy.execs.add(shown["Id"]);
    const [oldest] = proxy.execs;
    if (proxy.execs.size > execsMax && oldest !== undefined) proxy.execs.delete(oldest);
  }
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(shown));
}

function rejectRequest(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "Content-Type": "application/json", Connection: "close" });
  response.end(`${JSON.stringify({ message: `gatehouse engine-proxy: ${message}` })}\n`);
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeIdleConnections();
  });
}

export function createRequestCounter(metrics: Registry) {
  return new Counter({
    name: "gatehouse_engine_proxy_requests_total",
    help: "Requests to the Docker Engine, by kind; kind rejected: not forwarded.",
    labelNames: ["kind"],
    registers: [metrics],
  });
}
