import type { IncomingMessage, ServerResponse } from "node:http";
import type { CallerIdentity } from "../callers/caller.ts";
import type { Identify } from "../callers/identify.ts";
import type { MessageHandler } from "../dispatch/message-handler.ts";
import type { PolicySource } from "../policy/policy.ts";
import { ReceivedBytes } from "../wire/received-bytes.ts";
import type { AnswerHeaders } from "./answer-head.ts";
import { httpSink, steer } from "./http-sink.ts";
import { factsOf, isJsonRpcType } from "./request-facts.ts";
import { readTarget } from "./request-target.ts";

/** What a listener answers requests with. */
export type HttpHandlerDependencies = Readonly<{
  policy: PolicySource;
  identify: Identify;
  handle: MessageHandler;
  /** Headers for a browser's page of this origin; undefined when the origin may not call. */
  corsHeaders: (origin: string) => AnswerHeaders | undefined;
  /** Headers that follow an answer's own. */
  ageHeaders: () => AnswerHeaders;
  /** Whether a Host header names this listener. */
  isAllowedHost: (host: string | undefined) => boolean;
  /** Whether the listener is about to stop: connections are not kept alive then. */
  isDraining: () => boolean;
}>;

/**
 * Answers an HTTP request as geth's JSON-RPC server does: POST with a JSON type is a message, an empty GET is a health check,
 * OPTIONS a browser's preflight; 404 off the root path, 405, 413 and 415 where those fit. Every JSON-RPC outcome is 200.
 */
export function makeHttpHandler(dependencies: HttpHandlerDependencies) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    // Followed by "close"; the answer under way is cancelled there.
    request.on("error", () => response.destroy());
    const { headers, method } = request;
    if (dependencies.isDraining()) response.shouldKeepAlive = false;
    const cors = headers.origin === undefined ? [] : dependencies.corsHeaders(headers.origin);
    const target = readTarget(request);
    if (target === undefined) return refuse(request, response, 400, "more than one Host header; send one");
    if (!dependencies.isAllowedHost(target.host)) return refuse(request, response, 403, "this Host is not served here");
    if (cors === undefined) return refuse(request, response, 403, "this Origin may not call");
    if (target.path !== "/") return refuse(request, response, 404, "not found; POST to /");
    if (method === "OPTIONS") {
      response.writeHead(204, [...cors, ["Content-Length", "0"]].flat());
      response.end();
      return undefined;
    }
    if (method === "GET" || method === "HEAD") return answerEmpty(response, cors);
    if (method !== "POST") return refuse(request, response, 405, "method not allowed; use POST");
    if (!isJsonRpcType(headers["content-type"])) {
      return refuse(request, response, 415, "invalid content type, only application/json is supported");
    }
    return receive(request, response, cors, dependencies);
  };
}

function answerEmpty(response: ServerResponse, cors: AnswerHeaders): void {
  response.writeHead(200, [...cors, ["Content-Length", "0"]].flat());
  response.end();
}

/** Answers with plain text. A body that is still to come is not read: the connection closes. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  writeRefusal(request, response, status, message);
  response.end(`${message}\n`);
}

function writeRefusal(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  const headers = [
    ["Content-Type", "text/plain; charset=utf-8"],
    ["Content-Length", String(Buffer.byteLength(message) + 1)],
    ...(status === 405 ? [["Allow", "POST, OPTIONS"]] : []),
    ...(request.complete ? [] : [["Connection", "close"]]),
  ];
  response.writeHead(status, headers.flat());
}

/** How much of a body that is too large is still read, and for how long, so that the client gets to read the answer. */
const lingerBytes = 16_777_216;
const lingerMs = 2_000;

/**
 * Answers 413 and lets the client finish sending before the connection closes (RFC 9112, section 9.6): closed at once, its
 * kernel would throw the answer away with the reset.
 */
function refuseBody(request: IncomingMessage, response: ServerResponse, bodyBytes: number): void {
  const message = `content length too large; at most ${bodyBytes} bytes`;
  writeRefusal(request, response, 413, message);
  response.write(`${message}\n`);
  const timer = setTimeout(() => response.end(), lingerMs);
  let discarded = 0;
  request.on("data", (part: Buffer) => {
    discarded += part.length;
    if (discarded > lingerBytes) response.end();
  });
  request.on("end", () => response.end());
  response.on("close", () => clearTimeout(timer));
}

function receive(
  request: IncomingMessage,
  response: ServerResponse,
  cors: AnswerHeaders,
  dependencies: HttpHandlerDependencies,
): void {
  const { bodyBytes } = dependencies.policy().settings.limits;
  if (Number(request.headers["content-length"] ?? 0) > bodyBytes) return refuseBody(request, response, bodyBytes);
  const received = new ReceivedBytes();
  request.on("data", (part: Buffer) => {
    if (received.length + part.length <= bodyBytes) received.append(part);
    else if (!response.headersSent) refuseBody(request, response, bodyBytes);
  });
  request.on("end", () => {
    if (response.headersSent) return;
    const body = received.bytes;
    const identity = dependencies.identify(factsOf(request));
    if (identity instanceof Promise) {
      void identity.then((known) => answer(request, response, cors, { body, identity: known, dependencies }));
    } else answer(request, response, cors, { body, identity, dependencies });
  });
  return undefined;
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  cors: AnswerHeaders,
  {
    body,
    identity,
    dependencies,
  }: Readonly<{ body: Buffer; identity: CallerIdentity; dependencies: HttpHandlerDependencies }>,
): void {
  // Who went while a token was looked up is not answered: nobody would tell the call that its reader is gone.
  if (response.destroyed) return;
  if (identity.kind === "refused") {
    response.setHeader("WWW-Authenticate", "Bearer");
    refuse(request, response, 401, identity.message);
    return;
  }
  const { traceContext, requestId } = factsOf(request);
  const sink = httpSink(response, { before: cors, after: dependencies.ageHeaders() });
  steer(response, dependencies.handle(body, { caller: identity.caller, traceContext, requestId }, sink));
}
