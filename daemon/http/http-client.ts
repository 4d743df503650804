import type { IncomingHttpHeaders } from "node:http";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Agent, Dispatcher } from "undici";
import { BodyTooLargeError, joinChunks } from "../bytes.ts";
import { lookupName } from "./name-lookup.ts";
import { readHeader } from "./request-trace.ts";

/** Sends a request and reads its whole response. Redirects are not followed. Rejects with the system's error. */
export type HttpClient = (request: OutgoingRequest) => Promise<IncomingResponse>;

export type OutgoingRequest = Readonly<{
  origin: string;
  path: string;
  method: string;
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  /** Time limit for the whole response; rejects with a `TimeoutError` afterwards. */
  timeoutMs: number;
  limitBytes: number;
  /** Returns whether to read the body. If not, the connection is closed, and the body is empty. Default: always. */
  isWanted?: (head: ResponseHead) => boolean;
  /** Accounts for a part of the body, in bytes; if it throws, the connection is closed and the request rejected. */
  hold?: (bytes: number) => void;
  /** Aborts this request, which closes its connection and rejects with the signal's reason. */
  signal?: AbortSignal;
}>;

export type HttpClientOptions = Readonly<{
  /** Ends all requests and connections. */
  signal: AbortSignal;
  /** Max connections to one origin. Default: any number. */
  connectionsMax?: number;
}>;

export type ResponseHead = Readonly<{ status: number; headers: IncomingHttpHeaders }>;

export type IncomingResponse = ResponseHead & Readonly<{ body: Uint8Array<ArrayBuffer> }>;

/**
 * Creates a client over keep-alive connections. Uses undici's dispatcher, loaded on first use, which takes half the CPU of undici's
 * `request`: its streams and signals are not needed. An unresolvable name blocks no other destination ({@link lookupName}). When `signal`
 * aborts, requests in flight reject with its reason.
 */
export function createHttpClient({ signal, connectionsMax }: HttpClientOptions): HttpClient {
  let pendingAgent: Promise<Agent> | undefined;
  const inFlight = new Set<Exchange>();
  // One listener serves all requests: with many listeners, removing one would be slow.
  signal.addEventListener("abort", () => {
    inFlight.forEach((exchange) => exchange.stop(signal.reason));
    void pendingAgent?.then((agent) => agent.destroy());
  });
  return async (request) => {
    const agent = await (pendingAgent ??= loadAgent(connectionsMax));
    signal.throwIfAborted();
    const { origin, path, method, headers, body, timeoutMs } = request;
    const exchange = new Exchange(request);
    inFlight.add(exchange);
    const late = () => exchange.stop(new DOMException(`no response within ${timeoutMs} ms`, "TimeoutError"));
    const leave = () => exchange.stop(request.signal?.reason);
    const timer = setTimeout(late, timeoutMs);
    request.signal?.addEventListener("abort", leave, { once: true });
    try {
      if (request.signal?.aborted === true) leave();
      else agent.dispatch({ origin, path, method, headers, body: body ?? null, ...noTimeouts }, exchange);
      return await exchange.response;
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", leave);
      inFlight.delete(exchange);
    }
  };
}

async function loadAgent(connections: number | null = null): Promise<Agent> {
  const { default: UndiciAgent } = await import("undici/lib/dispatcher/agent.js");
  return new UndiciAgent({ connections, connect: { lookup: lookupName } });
}

/** The limit of the whole response replaces undici's timeouts. */
const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 } as const;

class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: OutgoingRequest;
  readonly #settle = Promise.withResolvers<IncomingResponse>();
  readonly response = this.#settle.promise;
  #controller: Dispatcher.DispatchController | undefined;
  #stopped: Readonly<{ reason: unknown }> | undefined;
  #head: ResponseHead | undefined;
  #decoder: Transform | undefined;
  readonly #chunks: Uint8Array[] = [];
  #lengthBytes = 0;

  constructor(request: OutgoingRequest) {
    this.#request = request;
  }

  /** Closes the connection, and rejects with `reason` unless the response is complete. */
  stop(reason: unknown): void {
    this.#stopped ??= { reason };
    this.#settle.reject(reason);
    this.#decoder?.destroy();
    this.#controller?.abort(reason as Error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#stopped !== undefined) controller.abort(this.#stopped.reason as Error);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#head = { status, headers };
    if (this.#request.isWanted?.(this.#head) === false) {
      this.#end();
      return this.stop(new Error("the body is not wanted"));
    }
    this.#decoder = createDecoder(readHeader(headers, "content-encoding"))
      ?.on("data", (chunk: Uint8Array) => this.#take(chunk))
      .on("drain", () => controller.resume())
      .on("end", () => this.#end())
      .on("error", (error) => this.stop(error));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#decoder === undefined) this.#take(chunk);
    else if (!this.#decoder.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#decoder === undefined) this.#end();
    else this.#decoder.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.stop(error);
  }

  #take(chunk: Uint8Array): void {
    const { limitBytes, hold } = this.#request;
    this.#lengthBytes += chunk.byteLength;
    try {
      if (this.#lengthBytes > limitBytes) throw new BodyTooLargeError(limitBytes);
      hold?.(chunk.byteLength);
      this.#chunks.push(chunk);
    } catch (error) {
      this.stop(error);
    }
  }

  #end(): void {
    if (this.#head !== undefined) this.#settle.resolve({ ...this.#head, body: joinChunks(this.#chunks) });
  }
}

const decoders = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;

/** Creates the decoder for a server that encodes a body although only `identity` is accepted. */
function createDecoder(encoding: string | undefined): Transform | undefined {
  if (encoding === undefined) return undefined;
  const known = Object.keys(decoders).find((name): name is keyof typeof decoders => name === encoding.toLowerCase());
  return known && decoders[known]();
}

const connectErrorCodes = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Returns whether a request failed before any part of the request was sent, so that it can't have had any effect. */
export function hasNeverConnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(hasNeverConnected);
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined && connectErrorCodes.has(code)) return true;
  return hasNeverConnected(error.cause);
}
