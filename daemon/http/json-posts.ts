import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { BodyTooLargeError } from "../bytes.ts";
import { createBoundedLog } from "../log/bounded-log.ts";
import type { Logger } from "../log/log.ts";
import { ConnectionMemory } from "../memory/connection-memory.ts";
import type { MemoryBudget } from "../memory/memory-budget.ts";
import type { Mask } from "../secrets/mask.ts";
import { ClientGoneError, discardRequest, readHeldRequest } from "./held-body.ts";
import { toAddressKey } from "./proxies/client-address.ts";
import { createRequestMeter } from "./request-meter.ts";
import { formatTraceInfo, startTrace, type RequestTrace } from "./request-trace.ts";
import { readTraceContext } from "./trace-context.ts";

/** POST request, before its body is read. */
export type JsonPost = Readonly<{
  /** Returns a header by its lowercase name. */
  header: (name: string) => string | undefined;
  /** Key of the client's address, see {@link toAddressKey}. */
  address: string;
  trace: RequestTrace;
  /** Aborts when the client disconnects before it has received the response. */
  signal: AbortSignal;
  /**
   * Reads the body as text; undefined when the memory limit is reached.
   *
   * @throws {BodyTooLargeError} which becomes a 413.
   * @throws {ClientGoneError} when the client disconnects first.
   */
  readText: () => Promise<string | undefined>;
}>;

/** Response to a POST request, as JSON. */
export type JsonAnswer = Readonly<{ status: number; body: object; headers?: Readonly<Record<string, string>> }>;

/** Handlers of POST requests, by path. */
export type JsonPostHandlers = Readonly<Record<string, (post: JsonPost) => Promise<JsonAnswer>>>;

/** Serves a request; returns false if no handler exists for it. */
export type ServePost = (request: IncomingMessage, response: ServerResponse) => boolean;

type JsonPostOptions = Readonly<{
  /** Larger bodies get a 413 response. */
  bodyLimitBytes: number;
}>;

type JsonPostDependencies = Readonly<{ log: Logger; metrics: Registry; mask: Mask; memory: MemoryBudget }>;

/**
 * Serves JSON POST requests directly via node:http, with the same ids, limits, measurements and errors as {@link createApp}. For a short
 * request, web `Request` objects and streams would take three times the CPU.
 */
export function createJsonPosts(
  handlers: JsonPostHandlers,
  options: JsonPostOptions,
  dependencies: JsonPostDependencies,
): ServePost {
  const meter = createRequestMeter(dependencies.metrics);
  const lines = createBoundedLog(dependencies.log);
  const byPath = new Map(Object.entries(handlers));

  const serve = async (path: string, handle: JsonPostHandlers[string], { request, response }: Exchange) => {
    const end = meter.start();
    using memory = new ConnectionMemory(dependencies.memory, {
      address: () => readAddress(request),
      cut: () => request.destroy(),
    });
    const trace = readTrace(request);
    const post = createPost({ request, response }, { trace, memory, limitBytes: options.bodyLimitBytes });
    let answer: JsonAnswer;
    try {
      answer = hasLargeBody(request, options) ? rejectBody(options) : await handle(post);
    } catch (error) {
      if (error instanceof BodyTooLargeError) answer = rejectBody(options);
      // The client never reads this response; metrics count it as a client error.
      else if (error instanceof ClientGoneError) answer = { status: 400, body: {} };
      else {
        lines.error({ event: "request-failed", err: error, ...formatTraceInfo(trace), route: path }, "request failed");
        answer = { status: 500, body: { error: "internal error", requestId: trace.requestId } };
      }
    }
    const isWhole = request.complete || (await discardRequest(request, discardLimits));
    end({ method: "POST", route: path, status: answer.status });
    if (response.destroyed) return;
    send(response, answer, { requestId: trace.requestId, mask: dependencies.mask, isLast: !isWhole });
  };
  return (request, response) => {
    const path = readPath(request);
    const handle = request.method === "POST" ? byPath.get(path) : undefined;
    if (handle === undefined) return false;
    void serve(path, handle, { request, response });
    return true;
  };
}

type Exchange = Readonly<{ request: IncomingMessage; response: ServerResponse }>;

/** Limits on draining a body that is not read, so that a client that is still sending can read the response. */
const discardLimits = { bytesMax: 16_777_216, deadlineMs: 2_000 } as const;

const decoder = new TextDecoder();

function createPost(
  { request, response }: Exchange,
  { trace, memory, limitBytes }: Readonly<{ trace: RequestTrace; memory: ConnectionMemory; limitBytes: number }>,
): JsonPost {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return {
    header: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    address: readAddress(request),
    trace,
    signal: gone.signal,
    readText: async () => {
      const bytes = await readHeldRequest(request, limitBytes, memory);
      return bytes && decoder.decode(bytes);
    },
  };
}

function readAddress({ socket }: IncomingMessage): string {
  return toAddressKey(socket.remoteAddress ?? "unknown");
}

function readPath({ url = "" }: IncomingMessage): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** Max length and characters of a client's request id, as in Hono's middleware. */
const requestIdForm = /^[\w\-=]{1,255}$/;

function readTrace({ headers }: IncomingMessage): RequestTrace {
  const { traceparent, tracestate } = headers;
  const sent = headers["x-request-id"];
  const requestId = typeof sent === "string" && requestIdForm.test(sent) ? sent : randomUUID();
  const state = Array.isArray(tracestate) ? tracestate.join(",") : tracestate;
  const known = typeof traceparent === "string" ? readTraceContext(traceparent, state) : undefined;
  return { requestId, trace: known ?? startTrace() };
}

function hasLargeBody({ headers }: IncomingMessage, { bodyLimitBytes }: JsonPostOptions): boolean {
  return Number(headers["content-length"] ?? 0) > bodyLimitBytes;
}

function rejectBody({ bodyLimitBytes }: JsonPostOptions): JsonAnswer {
  return { status: 413, body: { error: `body larger than ${bodyLimitBytes} bytes; send less` } };
}

function send(
  response: ServerResponse,
  { status, body, headers }: JsonAnswer,
  { requestId, mask, isLast }: Readonly<{ requestId: string; mask: Mask; isLast: boolean }>,
): void {
  const text = mask.text(JSON.stringify(body));
  if (isLast) response.setHeader("Connection", "close");
  response.writeHead(status, {
    "X-Request-Id": requestId,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}
