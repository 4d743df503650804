import type { IncomingMessage, ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import type { Logger } from "../log/log.ts";
import { ConnectionMemory } from "../memory/connection-memory.ts";
import type { MemoryBudget } from "../memory/memory-budget.ts";
import type { Mask } from "../secrets/mask.ts";
import { discardLimits, discardRequest, readHeldRequest, rejectLargeBody } from "./held-body.ts";
import { toAddressKey } from "./proxies/client-address.ts";
import { createRequestReports } from "./request-reports.ts";
import { readHeader, readRequestTrace, type RequestTrace } from "./request-trace.ts";

/** POST request, before its body is read. */
export type JsonPost = Readonly<{
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

export type JsonAnswer = Readonly<{ status: number; body: object; headers?: Readonly<Record<string, string>> }>;

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
  const reports = createRequestReports(dependencies);
  const byPath = new Map(Object.entries(handlers));

  const serve = async (path: string, handle: JsonPostHandlers[string], { request, response }: Exchange) => {
    const end = reports.start();
    using memory = new ConnectionMemory(dependencies.memory, {
      address: () => readAddress(request),
      cut: () => request.destroy(),
    });
    const trace = readRequestTrace(request.headers);
    const post = createPost({ request, response }, { trace, memory, limitBytes: options.bodyLimitBytes });
    let answer: JsonAnswer;
    try {
      rejectLargeBody(request, options.bodyLimitBytes);
      answer = await handle(post);
    } catch (error) {
      answer = reports.answerError(error, trace, path);
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
    header: (name) => readHeader(request.headers, name),
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
