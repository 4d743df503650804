import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { readForwarded, type ForwardedBy } from "#daemon/http/proxies/client-address.ts";
import { readTraceContext, type TraceContext } from "#daemon/http/trace-context.ts";

/** Whom a request comes from, as far as its head says. */
export type PeerFacts = ForwardedBy & Readonly<{ remoteAddress: string }>;

/** What is known of a request before its body: whom it comes from, and what it says about itself. */
export type RequestFacts = PeerFacts &
  Readonly<{
    authorization: string | undefined;
    traceContext: TraceContext | undefined;
    requestId: string | undefined;
  }>;

/** What is known of whoever is at the other end before any request's head was read. */
export function toPeerFacts({ remoteAddress = "" }: Socket): PeerFacts {
  return { remoteAddress, forwardedFor: undefined, forwarded: undefined };
}

/** A client's own id of its request, when it is plain enough to stand in a log. */
export function parseRequestId(value: string | undefined): string | undefined {
  return value !== undefined && /^[\w.-]{1,64}$/.test(value) ? value : undefined;
}

/** Whether a Content-Type is one that JSON-RPC over HTTP is sent with; geth's list. Parameters do not matter. */
export function isJsonRpcType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/json" || type === "application/json-rpc" || type === "application/jsonrequest";
}

/** The facts of a request that node:http has read. */
export function toRequestFacts({ headers, socket }: IncomingMessage): RequestFacts {
  const requestId = headers["x-request-id"];
  return {
    remoteAddress: socket.remoteAddress ?? "",
    authorization: headers.authorization,
    ...readForwarded(headers),
    traceContext: readTraceContext(single(headers["traceparent"]), single(headers["tracestate"])),
    requestId: typeof requestId === "string" ? parseRequestId(requestId) : undefined,
  };
}

/** A header's value; node:http has joined those that were given several times. */
function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.join(",");
}
