import type { IncomingMessage, ServerResponse } from "node:http";
import { refuseConnection } from "#daemon/http/connections/refused-connection.ts";
import { formatErrorAnswer } from "../json-rpc/read-answer.ts";
import { rateExceeded } from "../errors.ts";
import { buildRefusedHeaders, type AnswerHeaders } from "./answer-head.ts";
import type { RefusedBodies } from "./refused-bodies.ts";
import { formatBody, buildHeaders, formatRawRefusal, type HttpError } from "./http-errors.ts";

/** Answers with plain text. The rest of the body is not read: the connection closes. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  writeHead(request, response, error);
  response.end(formatBody(error));
}

function writeHead(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  const headers = [...buildHeaders(error), ...(request.complete ? [] : [["Connection", "close"]])];
  response.writeHead(error.status, headers.flat());
}

/** Refuses an upgrade. Nothing else bounds the connection any more: node:http has let go of it. */
export function refuseUpgrade({ socket }: IncomingMessage, error: HttpError): void {
  refuseConnection(socket, formatRawRefusal(error));
}

/** Reader of the rest of a refused body, and the address that it counts for. */
export type RefusedRest = Readonly<{ refusedBodies: RefusedBodies; address: string }>;

/** Refuses a request whose body is not whole. */
export function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  error: HttpError,
  { refusedBodies, address }: RefusedRest,
): void {
  writeHead(request, response, error);
  response.write(formatBody(error));
  refusedBodies.discard({ request, response }, address);
}

/** Refuses a request whose caller can't pay for its body, with the answer of a limit's refusal. */
export function refuseDebtor(
  request: IncomingMessage,
  response: ServerResponse,
  { before, waitSeconds }: Readonly<{ before: AnswerHeaders; waitSeconds: number }>,
  { refusedBodies, address }: RefusedRest,
): void {
  const text = formatErrorAnswer("null", rateExceeded(waitSeconds));
  const headers: AnswerHeaders = [...before, ...buildRefusedHeaders(waitSeconds, text.length), ["Connection", "close"]];
  response.writeHead(429, headers.flat());
  response.write(text);
  refusedBodies.discard({ request, response }, address);
}
