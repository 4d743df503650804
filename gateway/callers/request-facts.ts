import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { readForwardedFor } from "#daemon/http/proxies/client-address.ts";
import { readTraceContext, type TraceContext } from "#daemon/http/request-trace.ts";

/** Origin of a request, as its headers state it. */
export type PeerInfo = Readonly<{ remoteAddress: string; forwardedFor: string | undefined }>;

/** Facts about a request that are known before its body: its origin and its metadata. */
export type RequestInfo = PeerInfo &
  Readonly<{
    authorization: string | undefined;
    traceContext: TraceContext | undefined;
    requestId: string | undefined;
  }>;

/** Returns the facts about a peer that are known before a request head is read. */
export function toPeerInfo({ remoteAddress = "" }: Socket): PeerInfo {
  return { remoteAddress, forwardedFor: undefined };
}

/** Parses the client's request id; returns undefined if it is not safe to log. */
export function parseRequestId(value: string | undefined): string | undefined {
  return value !== undefined && /^[\w.-]{1,64}$/.test(value) ? value : undefined;
}

/** Whether a Content-Type is accepted for JSON-RPC over HTTP; the list matches geth's. Parameters are ignored. */
export function isJsonRpcType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/json" || type === "application/json-rpc" || type === "application/jsonrequest";
}

/** Returns the facts about a request parsed by node:http. */
export function toRequestInfo({ headers, socket }: IncomingMessage): RequestInfo {
  const requestId = headers["x-request-id"];
  return {
    remoteAddress: socket.remoteAddress ?? "",
    authorization: headers.authorization,
    forwardedFor: readForwardedFor(headers),
    traceContext: readTraceContext(joinHeader(headers["traceparent"]), joinHeader(headers["tracestate"])),
    requestId: typeof requestId === "string" ? parseRequestId(requestId) : undefined,
  };
}

/** Returns a header's value; node:http has already joined repeated headers. */
function joinHeader(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.join(",");
}
