import type { IncomingMessage, ServerResponse } from "node:http";
import { refuseConnection } from "#daemon/http/connections/refused-connection.ts";
import { formatErrorAnswer } from "../json-rpc/read-answer.ts";
import { rateExceeded } from "../errors.ts";
import { buildRefusedHeaders, type AnswerHeaders } from "./answer-head.ts";
import type { RefusedBodies } from "./refused-bodies.ts";
import { formatBody, buildHeaders, formatRawRefusal, type HttpError } from "./http-errors.ts";

/** Responds in plain text. The rest of the body is not read: the connection closes. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  writeHead(request, response, error);
  response.end(formatBody(error));
}

function writeHead(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  const headers = [...buildHeaders(error), ...(request.complete ? [] : [["Connection", "close"]])];
  response.writeHead(error.status, headers.flat());
}

/** Rejects an upgrade. The connection has no other timeout: node:http has released it. */
export function refuseUpgrade({ socket }: IncomingMessage, error: HttpError): void {
  refuseConnection(socket, formatRawRefusal(error));
}

/** Reader of the rest of a rejected body, and the address that it is counted for. */
export type RefusedRest = Readonly<{ refusedBodies: RefusedBodies; address: string }>;

/** Rejects a request whose body is incomplete. */
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

/** Rejects a request whose caller can't pay for its body, with the response of a limit rejection. */
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
