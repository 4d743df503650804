import type { IncomingMessage, ServerResponse } from "node:http";
import { errorText } from "../json-rpc/answer-text.ts";
import { rateExceeded } from "../errors.ts";
import { refusedHeaders, type AnswerHeaders } from "./answer-head.ts";

/** A refusal of a request, told as plain text. */
export type HttpRefusal = Readonly<{ status: number; message: string }>;

/** Answers with plain text. A body that is still to come is not read: the connection closes. */
export function refuse(request: IncomingMessage, response: ServerResponse, refusal: HttpRefusal): void {
  writeRefusal(request, response, refusal);
  response.end(`${refusal.message}\n`);
}

function writeRefusal(request: IncomingMessage, response: ServerResponse, { status, message }: HttpRefusal): void {
  const headers = [
    ["Content-Type", "text/plain; charset=utf-8"],
    ["Content-Length", String(Buffer.byteLength(message) + 1)],
    ...(status === 503 ? [["Retry-After", "1"]] : []),
    ...(status === 405 ? [["Allow", "POST, OPTIONS"]] : []),
    ...(request.complete ? [] : [["Connection", "close"]]),
  ];
  response.writeHead(status, headers.flat());
}

/** How much of a body that is too large is still read, and for how long, so that the client gets to read the answer. */
const lingerBytes = 16_777_216;
const lingerMs = 2_000;

/**
 * Refuses a request whose body is not whole, and lets the client finish sending before the connection closes (RFC 9112, section 9.6):
 * closed at once, its kernel would throw the answer away with the reset.
 */
export function refuseBody(request: IncomingMessage, response: ServerResponse, refusal: HttpRefusal): void {
  writeRefusal(request, response, refusal);
  response.write(`${refusal.message}\n`);
  linger(request, response);
}

/** Refuses a request whose caller can't pay for its body, as what a limit refuses is answered, and as {@link refuseBody} does it. */
export function refuseDebtor(
  request: IncomingMessage,
  response: ServerResponse,
  before: AnswerHeaders,
  waitSeconds: number,
): void {
  const text = errorText("null", rateExceeded(waitSeconds));
  const headers: AnswerHeaders = [...before, ...refusedHeaders(waitSeconds, text.length), ["Connection", "close"]];
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
