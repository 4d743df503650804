import type { IncomingMessage, ServerResponse } from "node:http";
import { rejectConnection } from "#daemon/http/connections/refused-connection.ts";
import { formatErrorResponse } from "../json-rpc/read-answer.ts";
import { rateExceeded } from "../errors.ts";
import { buildRejectedHeaders, type ResponseHeaders } from "./response-headers.ts";
import type { RejectedBodies } from "./refused-bodies.ts";
import { formatBody, buildHeaders, formatRawRejection, type HttpError } from "./http-errors.ts";

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
export type RejectedRest = Readonly<{ refusedBodies: RejectedBodies; address: string }>;

/** Rejects a request whose body is incomplete. */
export function rejectBody(
  request: IncomingMessage,
  response: ServerResponse,
  error: HttpError,
  { refusedBodies, address }: RejectedRest,
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
  { refusedBodies, address }: RejectedRest,
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
