import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import { describeEncodedBody } from "#daemon/http/held-body.ts";
import { formatRejection, rejectConnection } from "#daemon/http/connections/rejected-connection.ts";
import type { RejectedIdentity } from "../callers/identify.ts";
import { rateExceeded } from "../errors.ts";
import { formatErrorResponse } from "../json-rpc/read-answer.ts";
import { sourceHeader, type ResponseHeaders } from "./response-headers.ts";

/** Rejection of an HTTP request or an upgrade before there is a call to answer: one line of text, or JSON. */
export type HttpError = Readonly<{ status: number; text: string; headers: ResponseHeaders; json?: string }>;

/** Constant rejections. Status codes are from RFC 9110. */
export const httpErrors = {
  manyHosts: { status: 400, text: "more than one Host header; send one", headers: [] },
  foreignOrigin: { status: 403, text: "no Origin is allowed; call from outside a browser", headers: [] },
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

export function notAllowed(what: "address" | "Host" | "Origin", setting: string): HttpError {
  return { status: 403, text: `this ${what} is not allowed; ${setting} lists the allowed ones`, headers: [] };
}

export function bodyTooLarge(limitBytes: number): HttpError {
  return { status: 413, text: `content length too large; at most ${limitBytes} bytes`, headers: [] };
}

/** Builds the rejection for a body in this encoding (RFC 9110, section 15.5.16): decompressing it could take any amount of memory. */
export function unsupportedEncoding(encoding: string): HttpError {
  const text = describeEncodedBody(encoding);
  return { status: 415, text, headers: [["Accept-Encoding", "identity"]] };
}

/** Builds the rejection for a caller that already has `limit` WebSockets. */
export function tooManyWebSockets(limit: number): HttpError {
  return { status: 429, text: `more than ${limit} WebSockets; close one first`, headers: [] };
}

/** Builds the rejection for a caller that can't pay for its body: the same response as for a rate limit. */
export function bodyTooExpensive(waitSeconds: number): HttpError {
  const headers: ResponseHeaders = [
    [sourceHeader, "gateway"],
    ["Retry-After", String(waitSeconds)],
  ];
  return { status: 429, text: "", headers, json: formatErrorResponse("null", rateExceeded(waitSeconds)) };
}

/** Formats the status as node:http does: `404 Not Found`. */
export function formatStatus({ status }: HttpError): string {
  return `${status} ${STATUS_CODES[status] ?? ""}`;
}

export function formatBody({ text, json }: HttpError): string {
  return json ?? `${text}\n`;
}

export function buildHeaders(error: HttpError): ResponseHeaders {
  return [
    ["Content-Type", error.json === undefined ? "text/plain; charset=utf-8" : "application/json"],
    ...error.headers,
    ["Content-Length", String(Buffer.byteLength(formatBody(error)))],
  ];
}

/** Formats the complete rejection for a raw socket, which is closed after it. */
export function formatRawRejection(error: HttpError): string {
  const headers = error.headers.map(([name, value]) => `${name}: ${value}`);
  return formatRejection(formatStatus(error), error.text, headers);
}

/** Writes a rejection without ending it; `before` are headers for browsers. The rest of an incomplete body is not read: the connection closes. */
export function writeRejection(
  request: IncomingMessage,
  response: ServerResponse,
  error: HttpError,
  before: ResponseHeaders = [],
): void {
  const headers = [...before, ...buildHeaders(error), ...(request.complete ? [] : [["Connection", "close"]])];
  response.writeHead(error.status, headers.flat());
  response.write(formatBody(error));
}

export function reject(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  writeRejection(request, response, error);
  response.end();
}

/** Rejects an upgrade. The connection has no other timeout: node:http no longer manages it. */
export function rejectUpgrade({ socket }: IncomingMessage, error: HttpError): void {
  rejectConnection(socket, formatRawRejection(error));
}
