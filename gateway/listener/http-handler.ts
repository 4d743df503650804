import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { CallerIdentity } from "../callers/caller.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import { holdUntil } from "../memory/response-memory.ts";
import { ClientBacklog } from "../wire/client-backlog.ts";
import type { ResponseHeaders } from "./response-headers.ts";
import { hasTinyChunks } from "./chunked-request.ts";
import { HeldRequests, largeBytes } from "../wire/received-bytes.ts";
import {
  bodyTooLarge,
  httpErrors,
  refuse,
  rejectBody,
  rejectCredential,
  rejectDebtor,
  type RejectedBodyReader,
} from "./http-errors.ts";
import { createHttpSink, applyBackpressure } from "./http-sink.ts";
import type { RejectedBodies } from "./rejected-bodies.ts";
import { toRequestInfo, isJsonRpcType, type PeerInfo, type RequestInfo } from "../callers/request-facts.ts";
import { readTarget } from "./header-lines.ts";
import type { ListenerContext, RequestContext } from "./listener-context.ts";

/** What node:http adds to a listener's context. */
export type HttpContext = Readonly<{
  clients: HttpConnections;
  refusedBodies: RejectedBodies;
  /** Whether the connection closes after the response, whatever the client requests. May become true before the response arrives. */
  isLast: (request: IncomingMessage) => boolean;
}>;

/**
 * Serves HTTP requests like geth's JSON-RPC server: a POST with a JSON type is a message, an empty GET is a health check, and OPTIONS is a
 * browser's preflight request. Responds with 404 outside the root path, and with 405, 413 and 415 as appropriate. Every JSON-RPC outcome
 * has status 200.
 */
export function createHttpHandler(context: ListenerContext, http: HttpContext) {
  return (request: IncomingMessage, response: ServerResponse, { isAwaited } = { isAwaited: false }): void => {
    // A "close" event follows, which cancels the response in progress.
    request.on("error", () => response.destroy());
    context.tookSlowPath();
    const { headers, method } = request;
    if (http.isLast(request)) response.shouldKeepAlive = false;
    const cors = headers.origin === undefined ? [] : context.corsHeaders(headers.origin);
    const target = readTarget(request);
    if (target === undefined) return refuse(request, response, httpErrors.manyHosts);
    if (!context.isAllowedHost(target.host)) return refuse(request, response, httpErrors.foreignHost);
    if (cors === undefined) return refuse(request, response, httpErrors.foreignOrigin);
    if (target.path !== "/") return refuse(request, response, httpErrors.notFound);
    if (method === "OPTIONS") {
      response.writeHead(204, [...cors, ["Content-Length", "0"]].flat());
      response.end();
      return undefined;
    }
    if (method === "GET" || method === "HEAD") return answerEmpty(response, cors);
    if (method !== "POST") return refuse(request, response, httpErrors.methodNotAllowed);
    if (!isJsonRpcType(headers["content-type"])) return refuse(request, response, httpErrors.unsupportedType);
    const facts = toRequestInfo(request);
    const given = { facts, cors, context, http };
    if (refuseByHead(request, response, given)) return undefined;
    if (isAwaited) response.writeContinue();
    return answerBody(request, response, given);
  };
}

/** A request with a call in its body: the facts from its head, and the inputs for its response. */
type Exchange = Readonly<{ facts: RequestInfo; cors: ResponseHeaders; context: ListenerContext; http: HttpContext }>;

function buildRest({ facts, context, http: { refusedBodies } }: Exchange): RejectedBodyReader {
  return { refusedBodies, address: context.addressOf(facts) };
}

function answerEmpty(response: ServerResponse, cors: ResponseHeaders): void {
  response.writeHead(200, [...cors, ["Content-Length", "0"]].flat());
  response.end();
}

/**
 * Rejects a body that is too long, not allowed for its sender, or too expensive for its caller, before reading any of it. Returns whether
 * the body was rejected.
 */
function refuseByHead(request: IncomingMessage, response: ServerResponse, exchange: Exchange): boolean {
  const { facts, cors, context } = exchange;
  const { policy, identify, bodies } = context;
  const lengthBytes = Number(request.headers["content-length"] ?? 0);
  const { bodyBytes } = policy().settings.limits;
  if (lengthBytes > bodyBytes) {
    rejectBody(request, response, bodyTooLarge(bodyBytes), buildRest(exchange));
    return true;
  }
  const identity = lengthBytes > largeBytes ? identify(facts) : undefined;
  // A token that requires an asynchronous check is checked after the body is complete.
  if (identity === undefined || identity instanceof Promise) return false;
  if (identity.kind === "refused") {
    rejectBody(request, response, rejectCredential(identity), buildRest(exchange));
    return true;
  }
  const waitSeconds = bodies.waitSeconds(identity.caller, lengthBytes);
  if (waitSeconds === undefined) return false;
  bodies.refused(identity.caller);
  rejectDebtor(request, response, { before: cors, waitSeconds }, buildRest(exchange));
  return true;
}

function answerBody(request: IncomingMessage, response: ServerResponse, exchange: Exchange): void {
  const { facts, context, http } = exchange;
  const { bodyBytes } = context.policy().settings.limits;
  const memory = http.clients.memoryOf(request.socket, facts);
  const received = new HeldRequests(memory);
  const letGo = () => received.drop(received.length);
  let parts = 0;
  request.on("data", (part: Buffer) => {
    if (response.headersSent) return;
    parts += 1;
    if (hasTinyChunks(parts, received.length)) {
      letGo();
      // The rest is not read: reading is what is expensive here.
      refuse(request, response, httpErrors.wastefulChunks);
      return;
    }
    const isTooLarge = received.length + part.length > bodyBytes;
    if (!isTooLarge) {
      received.append(part);
      if (received.count()) return;
    }
    letGo();
    rejectBody(request, response, isTooLarge ? bodyTooLarge(bodyBytes) : httpErrors.tooMuchHeld, buildRest(exchange));
  });
  request.on("close", letGo);
  request.on("end", () => {
    if (response.headersSent) return;
    const body = received.bytes;
    // From here on the body counts for as long as it is used, which may be longer than the request exists.
    letGo();
    const identity = context.identify(facts);
    const given = { ...exchange, body, memory };
    if (identity instanceof Promise) {
      void holdUntil(memory, body.length, identity).then((known) =>
        answer(request, response, { ...given, identity: known }),
      );
    } else answer(request, response, { ...given, identity });
  });
  return undefined;
}

type Given = Exchange & Readonly<{ body: Buffer; memory: ConnectionMemory; identity: CallerIdentity }>;

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { facts: { traceContext, requestId }, cors, body, memory, identity, context, http }: Given,
): void {
  // A client that disconnected during the token check gets no response: nothing would notify the call that its reader is gone.
  if (response.destroyed) return;
  if (identity.kind === "refused") {
    refuse(request, response, rejectCredential(identity));
    return;
  }
  const backlog = new ClientBacklog(response, memory);
  const around = { before: cors, after: context.ageHeaders(), isLast: () => http.isLast(request) };
  const sink = createHttpSink(response, backlog, around);
  applyBackpressure(
    response,
    backlog,
    context.handle(body, { caller: identity.caller, memory, traceContext, requestId }, sink),
  );
}

/** Memory of the connections that node:http serves. */
export type HttpConnections = Readonly<{ memoryOf: (socket: Socket, facts: PeerInfo) => ConnectionMemory }>;

type Known = { readonly memory: ConnectionMemory; facts: PeerInfo };

/** Creates the memory of each connection on its first request and retains it until the connection closes. */
export function createHttpConnections({ memory, addressOf }: RequestContext): HttpConnections {
  const bySocket = new Map<Socket, Known>();
  const begin = (socket: Socket, facts: PeerInfo): Known => {
    const cut = () => socket.destroy();
    const known: Known = {
      memory: new ConnectionMemory(memory, { address: () => addressOf(known.facts), cut }),
      facts,
    };
    socket.once("close", () => {
      bySocket.delete(socket);
      known.memory[Symbol.dispose]();
    });
    bySocket.set(socket, known);
    return known;
  };
  return {
    memoryOf: (socket, facts) => {
      const known = bySocket.get(socket) ?? begin(socket, facts);
      known.facts = facts;
      return known.memory;
    },
  };
}
