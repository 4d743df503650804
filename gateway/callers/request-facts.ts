import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { readForwarded, type ForwardedBy } from "#daemon/http/proxies/client-address.ts";
import { readTraceContext, type TraceContext } from "#daemon/http/trace-context.ts";

/** Origin of a request, as far as its head says. */
export type PeerFacts = ForwardedBy & Readonly<{ remoteAddress: string }>;

/** Facts about a request before its body: its origin, and what it says about itself. */
export type RequestFacts = PeerFacts &
  Readonly<{
    authorization: string | undefined;
    traceContext: TraceContext | undefined;
    requestId: string | undefined;
  }>;

/** Returns the facts about a peer before any request's head was read. */
export function toPeerFacts({ remoteAddress = "" }: Socket): PeerFacts {
  return { remoteAddress, forwardedFor: undefined, forwarded: undefined };
}

/** Reads a client's own id of its request; undefined if it is too odd to stand in a log. */
export function parseRequestId(value: string | undefined): string | undefined {
  return value !== undefined && /^[\w.-]{1,64}$/.test(value) ? value : undefined;
}

/** Whether a Content-Type is one that JSON-RPC over HTTP is sent with; geth's list. Parameters do not matter. */
export function isJsonRpcType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/json" || type === "application/json-rpc" || type === "application/jsonrequest";
}

/** Returns the facts of a request that node:http has read. */
export function toRequestFacts({ headers, socket }: IncomingMessage): RequestFacts {
  const requestId = headers["x-request-id"];
  return {
    remoteAddress: socket.remoteAddress ?? "",
    authorization: headers.authorization,
    ...readForwarded(headers),
    traceContext: readTraceContext(joinHeader(headers["traceparent"]), joinHeader(headers["tracestate"])),
    requestId: typeof requestId === "string" ? parseRequestId(requestId) : undefined,
  };
}

/** Returns a header's value; node:http has joined those that were given several times. */
function joinHeader(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.join(",");
}
