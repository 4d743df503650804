import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isUnencoded } from "#daemon/http/held-body.ts";
import { readTarget } from "#daemon/http/request-target.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { CallerIdentity } from "../callers/identify.ts";
import { toRequestInfo, isJsonRpcType, type PeerInfo, type RequestInfo } from "../callers/request-facts.ts";
import { holdUntil } from "../responses/response-memory.ts";
import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import { ClientBacklog } from "./client-backlog.ts";
import { Corks } from "../wire/outbox.ts";
import { HeldRequests, largeBytes } from "#daemon/memory/received-bytes.ts";
import {
  bodyTooExpensive,
  bodyTooLarge,
  httpErrors,
  reject,
  rejectCredential,
  unsupportedEncoding,
  writeRejection,
  type HttpError,
} from "./http-errors.ts";
import type { ListenerContext } from "./listener-context.ts";
import type { RejectedBodies } from "./rejected-bodies.ts";
import {
  buildRejectedHeaders,
  buildStreamHeaders,
  buildWholeHeaders,
  type ResponseHeaders,
} from "./response-headers.ts";

/** node:http's additions to a listener's context. */
export type HttpContext = Readonly<{
  rejectedBodies: RejectedBodies;
  /** Whether the connection closes after the response, whatever the client requests. May become true before the response arrives. */
  isLast: (socket: Socket) => boolean;
}>;

type Exchange = Readonly<{
  request: IncomingMessage;
  response: ServerResponse;
  facts: RequestInfo;
  cors: ResponseHeaders;
}>;

/**
 * Serves HTTP requests like geth's JSON-RPC server: a POST with a JSON type is a message, an empty GET is a health check, and OPTIONS is a
 * browser's preflight request. Responds with 404 outside the root path, and with 405, 413 and 415 as appropriate. Every JSON-RPC outcome
 * has status 200.
 */
export class HttpHandler {
  readonly #context: ListenerContext;
  readonly #http: HttpContext;
  /** Memory of each connection that node:http serves, and the facts of its last request. */
  readonly #connections = new WeakMap<Socket, { readonly memory: ConnectionMemory; facts: PeerInfo }>();

  constructor(context: ListenerContext, http: HttpContext) {
    this.#context = context;
    this.#http = http;
  }

  /** `awaitsContinue`: the client sends its body only after 100 Continue, which is not sent if the head is rejected. */
  serve(request: IncomingMessage, response: ServerResponse, awaitsContinue = false): void {
    // A "close" event follows, which cancels the response in progress.
    request.on("error", () => response.destroy());
    this.#context.tookSlowPath();
    const { headers, method, socket } = request;
    if (this.#http.isLast(socket)) response.shouldKeepAlive = false;
    const cors = headers.origin === undefined ? [] : this.#context.corsHeaders(headers.origin);
    const target = readTarget(request);
    if (target === undefined) return reject(request, response, httpErrors.manyHosts);
    if (!this.#context.isAllowedHost(target.host)) return reject(request, response, this.#context.rejections.host);
    if (cors === undefined) return reject(request, response, this.#context.rejections.origin);
    if (target.path !== "/") return reject(request, response, httpErrors.notFound);
    if (method === "OPTIONS" || method === "GET" || method === "HEAD") {
      response.writeHead(method === "OPTIONS" ? 204 : 200, [...cors, ["Content-Length", "0"]].flat());
      response.end();
      return undefined;
    }
    if (method !== "POST") return reject(request, response, httpErrors.methodNotAllowed);
    if (!isJsonRpcType(headers["content-type"])) return reject(request, response, httpErrors.unsupportedType);
    const encoding = headers["content-encoding"];
    if (!isUnencoded(encoding)) return reject(request, response, unsupportedEncoding(encoding));
    const exchange = { request, response, facts: toRequestInfo(request), cors };
    const error = this.#judgeHead(exchange);
    if (error !== undefined) return this.#rejectBody(exchange, error);
    if (awaitsContinue) response.writeContinue();
    return this.#readBody(exchange);
  }

  /** Returns the rejection of a body that is too long, not allowed for its sender, or too expensive for its caller, before any of it is read. */
  #judgeHead({ request, facts }: Exchange): HttpError | undefined {
    const { policy, identify, bodies } = this.#context;
    const lengthBytes = Number(request.headers["content-length"] ?? 0);
    const { bodyBytes } = policy().settings.limits;
    if (lengthBytes > bodyBytes) return bodyTooLarge(bodyBytes);
    const identity = lengthBytes > largeBytes ? identify(facts) : undefined;
    // A token that requires an asynchronous check is checked after the body is complete.
    if (identity === undefined || identity instanceof Promise) return undefined;
    if (identity.kind === "rejected") return rejectCredential(identity);
    const waitSeconds = bodies.waitSeconds(identity.caller, lengthBytes);
    if (waitSeconds === undefined) return undefined;
    bodies.rejected(identity.caller);
    return bodyTooExpensive(waitSeconds);
  }

  #rejectBody({ request, response, facts, cors }: Exchange, error: HttpError): void {
    writeRejection(request, response, error, error.json === undefined ? [] : cors);
    this.#http.rejectedBodies.discard({ request, response }, this.#context.addressOf(facts));
  }

  #readBody(exchange: Exchange): void {
    const { request, response, facts } = exchange;
    const { bodyBytes } = this.#context.policy().settings.limits;
    const memory = this.#memoryOf(request.socket, facts);
    const heldRequests = new HeldRequests(memory);
    const release = () => heldRequests.drop(heldRequests.length);
    request.on("data", (part: Buffer) => {
      if (response.headersSent) return;
      const isTooLarge = heldRequests.length + part.length > bodyBytes;
      if (!isTooLarge) {
        heldRequests.append(part);
        if (heldRequests.count()) return;
      }
      release();
      this.#rejectBody(exchange, isTooLarge ? bodyTooLarge(bodyBytes) : httpErrors.tooMuchHeld);
    });
    request.on("close", release);
    request.on("end", () => {
      if (response.headersSent) return;
      const body = heldRequests.bytes;
      // From here on, the body counts towards the limit while it is in use, perhaps beyond the end of the request.
      release();
      const identity = this.#context.identify(facts);
      const handleCaller = (known: CallerIdentity) => this.#answer(exchange, body, memory, known);
      if (identity instanceof Promise) void holdUntil(memory, body.length, identity).then(handleCaller);
      else handleCaller(identity);
    });
  }

  #answer(
    { request, response, facts, cors }: Exchange,
    body: Buffer,
    memory: ConnectionMemory,
    who: CallerIdentity,
  ): void {
    // A client that disconnected during the token check gets no response: the call would never learn that its reader is gone.
    if (response.destroyed) return;
    if (who.kind === "rejected") {
      reject(request, response, rejectCredential(who));
      return;
    }
    const { ageHeaders, handle } = this.#context;
    const { traceContext, requestId } = facts;
    const backlog = new ClientBacklog(response, memory);
    const isLast = () => this.#http.isLast(request.socket);
    const sink = createHttpSink(response, backlog, { before: cors, after: ageHeaders(), isLast });
    const flow = handle(body, { caller: who.caller, memory, traceContext, requestId }, sink);
    applyBackpressure(response, backlog, flow);
  }

  /** Returns the memory of a connection, which is released when the connection closes. */
  #memoryOf(socket: Socket, facts: PeerInfo): ConnectionMemory {
    const known = this.#connections.get(socket);
    if (known !== undefined) {
      known.facts = facts;
      return known.memory;
    }
    const address = () => this.#context.addressOf(this.#connections.get(socket)?.facts ?? facts);
    const memory = new ConnectionMemory(this.#context.memory, { address, cut: () => socket.destroy() });
    socket.once("close", () => memory[Symbol.dispose]());
    this.#connections.set(socket, { memory, facts });
    return memory;
  }
}

/** Headers before and after a response's own, and whether the connection closes after the response, which may become true before the response arrives. */
type SurroundingHeaders = Readonly<{ before: ResponseHeaders; after: ResponseHeaders; isLast: () => boolean }>;

/** Max length of a response that is written and ended in one call; a longer response may have to wait for its reader. */
const smallBytes = 8_192;

const corks = new Corks();

function createHttpSink(
  response: ServerResponse,
  backlog: ClientBacklog,
  { before, after, isLast }: SurroundingHeaders,
): ResponseSink {
  const head = (status: number, headers: ResponseHeaders) => {
    if (response.socket !== null) corks.add(response.socket);
    if (isLast()) response.shouldKeepAlive = false;
    response.writeHead(status, [...before, ...headers, ...after].flat());
  };
  const end = () => backlog.afterAll(() => response.end());
  const sendText = (text: string) => {
    // A string is sent together with its head in a single write.
    if (text.length <= smallBytes) {
      response.end(text, "latin1");
      return;
    }
    backlog.write(Buffer.from(text, "latin1"));
    end();
  };
  return {
    text: (json, source, retryAfterSeconds) => {
      if (retryAfterSeconds === undefined) head(200, buildWholeHeaders(source, json.length));
      else head(429, buildRejectedHeaders(retryAfterSeconds, json.length));
      sendText(json);
    },
    bytes: (body, source) => {
      head(200, buildWholeHeaders(source, body.length));
      sendText(body.toString("latin1"));
    },
    begin: (lengthBytes, source) => head(200, buildStreamHeaders(source, lengthBytes)),
    chunk: (bytes) => backlog.write(bytes),
    end,
    fail: () => response.destroy(),
  };
}

/** Applies backpressure: a slow client pauses the upstream, a disconnect cancels it, and bytes read by the client are no longer counted. */
function applyBackpressure(response: ServerResponse, backlog: ClientBacklog, flow: ResponseFlow): void {
  if (response.writableFinished) return;
  response.on("drain", () => {
    if (backlog.drained()) flow.resume();
  });
  response.on("close", () => {
    backlog[Symbol.dispose]();
    if (!response.writableEnded) flow.cancel();
  });
}
