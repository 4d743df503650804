import type { IncomingMessage } from "node:http";

/** What is known of a request before its body: whom it comes from, and what it says about itself. */
export type RequestFacts = Readonly<{
  remoteAddress: string;
  authorization: string | undefined;
  forwardedFor: string | undefined;
  traceparent: string | undefined;
  requestId: string | undefined;
}>;

/** A W3C trace context that is well-formed, else undefined: nothing else of a client's headers reaches the node. */
export function validTraceparent(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  return /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.test(value) ? value : undefined;
}

/** A client's own id of its request, when it is plain enough to stand in a log. */
export function validRequestId(value: string | undefined): string | undefined {
  return value !== undefined && /^[\w.-]{1,64}$/.test(value) ? value : undefined;
}

/** Whether a Content-Type is one that JSON-RPC over HTTP is sent with; geth's list. Parameters do not matter. */
export function isJsonRpcType(contentType: string | undefined): boolean {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/json" || type === "application/json-rpc" || type === "application/jsonrequest";
}

/** The facts of a request that node:http has read. */
export function factsOf({ headers, socket }: IncomingMessage): RequestFacts {
  const forwarded = headers["x-forwarded-for"];
  const trace = headers["traceparent"];
  const requestId = headers["x-request-id"];
  return {
    remoteAddress: socket.remoteAddress ?? "",
    authorization: headers.authorization,
    forwardedFor: Array.isArray(forwarded) ? forwarded.join(",") : forwarded,
    traceparent: typeof trace === "string" ? validTraceparent(trace) : undefined,
    requestId: typeof requestId === "string" ? validRequestId(requestId) : undefined,
  };
}
