import type { IncomingMessage, ServerResponse } from "node:http";
import { refuseConnection } from "#daemon/http/connections/refused-connection.ts";
import { formatErrorAnswer } from "../json-rpc/read-answer.ts";
import { rateExceeded } from "../errors.ts";
import { buildRefusedHeaders, type AnswerHeaders } from "./answer-head.ts";
import { formatBody, buildHeaders, formatRawRefusal, type HttpError } from "./http-errors.ts";

/** Answers with plain text. A body that is still to come is not read: the connection closes. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  writeHead(request, response, error);
  response.end(formatBody(error));
}

function writeHead(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  const headers = [...buildHeaders(error), ...(request.complete ? [] : [["Connection", "close"]])];
  response.writeHead(error.status, headers.flat());
}

/** Refuses an upgrade. Nobody else bounds the connection any more: node:http has let go of it. */
export function refuseUpgrade({ socket }: IncomingMessage, error: HttpError): void {
  refuseConnection(socket, formatRawRefusal(error));
}

/** How much of a body that is too large is still read, and for how long, so that the client gets to read the answer. */
const lingerBytes = 16_777_216;
const lingerMs = 2_000;

/**
 * Refuses a request whose body is not whole, and lets the client finish sending before the connection closes (RFC 9112, section 9.6):
 * closed at once, its kernel would throw the answer away with the reset.
 */
export function refuseBody(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  writeHead(request, response, error);
  response.write(formatBody(error));
  linger(request, response);
}

/** Refuses a request whose caller can't pay for its body, as what a limit refuses is answered, and as {@link refuseBody} does it. */
export function refuseDebtor(
  request: IncomingMessage,
  response: ServerResponse,
  before: AnswerHeaders,
  waitSeconds: number,
): void {
  const text = formatErrorAnswer("null", rateExceeded(waitSeconds));
  const headers: AnswerHeaders = [...before, ...buildRefusedHeaders(waitSeconds, text.length), ["Connection", "close"]];
  response.writeHead(429, headers.flat());
  response.write(text);
  linger(request, response);
}

function linger(request: IncomingMessage, response: ServerResponse): void {
  const timer = setTimeout(() => response.end(), lingerMs);
  let discarded = 0;
  request.on("data", (part: Buffer) => {
    discarded += part.length;
    if (discarded > lingerBytes) response.end();
  });
  request.on("end", () => response.end());
  response.on("close", () => clearTimeout(timer));
}
