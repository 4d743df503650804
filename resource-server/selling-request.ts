import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "hono";
import type { AppVariables } from "#daemon/http/app.ts";
import { startTrace, type RequestTrace } from "#daemon/http/request-trace.ts";
import { readTraceContext } from "#daemon/http/trace-context.ts";

/** `node:http` objects that the listener passes with each request. */
export type NodeBindings = Readonly<{ incoming: IncomingMessage; outgoing: ServerResponse }>;

/** A request at the selling port, whichever way it came in. */
export type SellingRequest = NodeBindings &
  Readonly<{
    /** Absolute URL, from its Host header. */
    url: string;
    trace: () => RequestTrace;
    body: () => ReadableStream<Uint8Array> | null;
    /** Responds that there is no such route, or not with this method. */
    answerNoRoute: (headers?: Readonly<Record<string, string>>) => Response | Promise<Response>;
  }>;

/** Returns the `node:http` objects of a request. */
export function getBindings(c: Context<AppVariables>): NodeBindings {
  return c.env as NodeBindings;
}

/** Reads a header's value; several of one name are joined (RFC 9110, section 5.3). */
export function readHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Reads the client's request id, or makes one, by the same rule as Hono's `requestId`. */
export function readRequestId(headers: IncomingHttpHeaders): string {
  const given = readHeader(headers, "x-request-id") ?? "";
  return given === "" || given.length > 255 || /[^\w\-=]/.test(given) ? randomUUID() : given;
}

/** Reads the client's trace, or starts one. */
export function readTrace(headers: IncomingHttpHeaders, requestId: string): RequestTrace {
  const [parent, state] = [readHeader(headers, "traceparent"), readHeader(headers, "tracestate")];
  return { requestId, trace: readTraceContext(parent, state) ?? startTrace() };
}
