import type { IncomingMessage, ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { decodeUtf8 } from "../files/utf8.ts";
import type { Logger } from "../log/log.ts";
import { ConnectionMemory } from "../memory/connection-memory.ts";
import type { MemoryBudget } from "../memory/memory-budget.ts";
import type { Mask } from "../secrets/mask.ts";
import { describeAllowedMethods } from "./app.ts";
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
   * @throws {NotUtf8Error} which becomes a 400.
   * @throws {ClientGoneError} when the client disconnects first.
   */
  readText: () => Promise<string | undefined>;
}>;

export type JsonResponse = Readonly<{ status: number; body: object; headers?: Readonly<Record<string, string>> }>;

export type JsonPostHandlers = Readonly<Record<string, (post: JsonPost) => Promise<JsonResponse>>>;

/** Serves a request; returns false if no handler exists for its path. */
export type ServePost = (request: IncomingMessage, response: ServerResponse) => boolean;

const rejectMethod = async () => ({ status: 405, ...describeAllowedMethods(["POST"]) });

/**
 * Serves JSON POST requests directly via node:http, with the same ids, limits, measurements and errors as {@link createApp}. For a short
 * request, web `Request` objects and streams would take three times the CPU.
 */
export function createJsonPoster(
  handlers: JsonPostHandlers,
  /** Larger bodies get a 413 response. */
  { bodyLimitBytes }: Readonly<{ bodyLimitBytes: number }>,
  dependencies: Readonly<{ log: Logger; metrics: Registry; mask: Mask; memory: MemoryBudget }>,
): ServePost {
  const reports = createRequestReports(dependencies);
  const byPath = new Map(Object.entries(handlers));

  const serve = async (
    path: string,
    handle: JsonPostHandlers[string],
    request: IncomingMessage,
    response: ServerResponse,
  ) => {
    const end = reports.start();
    const address = toAddressKey(request.socket.remoteAddress ?? "unknown");
    using memory = new ConnectionMemory(dependencies.memory, { address: () => address, cut: () => request.destroy() });
    const trace = readRequestTrace(request.headers);
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) gone.abort();
    });
    let answer: JsonResponse;
    try {
      rejectLargeBody(request, bodyLimitBytes);
      answer = await handle({
        header: (name) => readHeader(request.headers, name),
        address,
        trace,
        signal: gone.signal,
        readText: async () => {
          const bytes = await readHeldRequest(request, bodyLimitBytes, memory);
          return bytes && decodeUtf8(bytes);
        },
      });
    } catch (error) {
      answer = reports.answerError(error, trace, path);
    }
    const isComplete = request.complete || (await discardRequest(request, discardLimits));
    end({ method: request.method ?? "", route: path, status: answer.status });
    if (response.destroyed) return;
    const text = dependencies.mask.text(JSON.stringify(answer.body));
    if (!isComplete) response.setHeader("Connection", "close");
    response.writeHead(answer.status, {
      "X-Request-Id": trace.requestId,
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text),
      ...answer.headers,
    });
    response.end(text);
  };
  return (request, response) => {
    const [path = ""] = (request.url ?? "").split(/[?#]/, 1);
    const handle = byPath.get(path);
    if (handle === undefined) return false;
    void serve(path, request.method === "POST" ? handle : rejectMethod, request, response);
    return true;
  };
}
