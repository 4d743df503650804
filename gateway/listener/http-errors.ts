import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import { formatRejection, rejectConnection } from "#daemon/http/connections/rejected-connection.ts";
import type { RejectedIdentity } from "../callers/caller.ts";
import { rateExceeded } from "../errors.ts";
import { formatErrorResponse } from "../json-rpc/read-answer.ts";
import type { RejectedBodies } from "./rejected-bodies.ts";
import { buildRejectedHeaders, type ResponseHeaders } from "./response-headers.ts";
import { uncheckedChunks, averageBytesMin } from "./chunked-request.ts";

/** Rejection of an HTTP request or an upgrade, sent as plain text with its own headers, before there is a JSON-RPC response. */
export type HttpError = Readonly<{ status: number; text: string; headers: ResponseHeaders }>;

/** Constant rejections. Status codes are from RFC 9110. */
export const httpErrors = {
  manyHosts: { status: 400, text: "more than one Host header; send one", headers: [] },
  wastefulChunks: {
    status: 400,
    text: `more than ${uncheckedChunks} chunks of fewer than ${averageBytesMin} bytes on average; send larger chunks`,
    headers: [],
  },
  foreignHost: { status: 403, text: "this Host is not allowed", headers: [] },
  foreignOrigin: { status: 403, text: "this Origin is not allowed", headers: [] },
  notFound: { status: 404, text: "not found; POST to /", headers: [] },
  notFoundForUpgrade: { status: 404, text: "not found; connect to /", headers: [] },
  methodNotAllowed: { status: 405, text: "method not allowed; use POST", headers: [["Allow", "POST, OPTIONS"]] },
  unsupportedType: { status: 415, text: "invalid content type, only application/json is supported", headers: [] },
  tooMuchHeld: {
    status: 503,
    text: "too much is buffered for incomplete requests and unread responses; try again later",
    headers: [["Retry-After", "1"]],
  },
  tooManyClients: { status: 503, text: "too many clients", headers: [] },
  goingAway: { status: 503, text: "going away", headers: [] },
} as const satisfies Record<string, HttpError>;

/** Builds the rejection for a caller whose credential is missing, invalid, or can't be checked now; in the last case, `retryAfterSeconds` is set. */
export function rejectCredential({ message, retryAfterSeconds }: RejectedIdentity): HttpError {
  return retryAfterSeconds === undefined
    ? { status: 401, text: message, headers: [["WWW-Authenticate", "Bearer"]] }
    : { status: 429, text: message, headers: [["Retry-After", String(retryAfterSeconds)]] };
}

/** Builds the rejection for a peer whose address is not allowed; `setting` is the setting that lists the allowed addresses. */
export function addressNotAdmitted(setting: string): HttpError {
  return { status: 403, text: `this address is not allowed; ${setting} lists the allowed ones`, headers: [] };
}

/** Builds the rejection for a body that is longer than `limitBytes`. */
export function bodyTooLarge(limitBytes: number): HttpError {
  return { status: 413, text: `content length too large; at most ${limitBytes} bytes`, headers: [] };
}

/** Builds the rejection for a caller that already has `limit` WebSockets. */
export function tooManyWebSockets(limit: number): HttpError {
  return { status: 429, text: `more than ${limit} WebSockets; close one first`, headers: [] };
}

/** Formats the status as node:http does: `404 Not Found`. */
export function formatStatus({ status }: Pick<HttpError, "status">): string {
  return `${status} ${STATUS_CODES[status] ?? ""}`;
}

/** Formats the body: the text on one line. */
export function formatBody({ text }: HttpError): string {
  return `${text}\n`;
}

/** Builds the headers for a rejection and its body. */
export function buildHeaders(error: HttpError): ResponseHeaders {
  return [
    ["Content-Type", "text/plain; charset=utf-8"],
    ...error.headers,
    ["Content-Length", String(Buffer.byteLength(formatBody(error)))],
  ];
}

/** Formats the complete rejection for a raw socket, which is closed after it. */
export function formatRawRejection(error: HttpError): string {
  const headers = error.headers.map(([name, value]) => `${name}: ${value}`);
  return formatRejection(formatStatus(error), error.text, headers);
}

/** Responds in plain text. The rest of the body is not read: the connection closes. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  writeHead(request, response, error);
  response.end(formatBody(error));
}

function writeHead(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  const headers = [...buildHeaders(error), ...(request.complete ? [] : [["Connection", "close"]])];
  response.writeHead(error.status, headers.flat());
}

/** Rejects an upgrade. The connection has no other timeout: node:http no longer manages it. */
export function rejectUpgrade({ socket }: IncomingMessage, error: HttpError): void {
  rejectConnection(socket, formatRawRejection(error));
}

/** Reader for the rest of a rejected body, and the address against which the body is counted. */
export type RejectedBodyReader = Readonly<{ refusedBodies: RejectedBodies; address: string }>;

/** Rejects a request whose body is incomplete. */
export function rejectBody(
  request: IncomingMessage,
  response: ServerResponse,
  error: HttpError,
  { refusedBodies, address }: RejectedBodyReader,
): void {
  writeHead(request, response, error);
  response.write(formatBody(error));
  refusedBodies.discard({ request, response }, address);
}

/** Rejects a request whose caller can't pay for its body, with the same response as for a rate limit. */
export function rejectDebtor(
  request: IncomingMessage,
  response: ServerResponse,
  { before, waitSeconds }: Readonly<{ before: ResponseHeaders; waitSeconds: number }>,
  { refusedBodies, address }: RejectedBodyReader,
): void {
  const text = formatErrorResponse("null", rateExceeded(waitSeconds));
  const headers: ResponseHeaders = [
    ...before,
    ...buildRejectedHeaders(waitSeconds, text.length),
    ["Connection", "close"],
  ];
  response.writeHead(429, headers.flat());
  response.write(text);
  refusedBodies.discard({ request, response }, address);
}
