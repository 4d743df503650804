import { randomBytes } from "node:crypto";
import type { TraceContext } from "./trace-context.ts";

/** Ids that tie together the lines about one request, in every service that handles it. */
export type RequestTrace = Readonly<{ requestId: string; trace: TraceContext }>;

/** Begins a trace for a request that came without one (W3C Trace Context, section 3.2.2); it requests no spans. */
export function beginTrace(): TraceContext {
  const ids = randomBytes(24).toString("hex");
  return { traceparent: `00-${ids.slice(0, 32)}-${ids.slice(32)}-00`, tracestate: undefined };
}

/** Reads the id of a trace, as logs name it. */
export function readTraceId({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35);
}

/** Formats the facts of a request for a line of the log. */
export function formatTraceFacts({ requestId, trace }: RequestTrace): Readonly<{ requestId: string; traceId: string }> {
  return { requestId, traceId: readTraceId(trace) };
}

/** Returns the headers by which the next service ties its lines to the same request. */
export function requestTraceHeaders({ requestId, trace }: RequestTrace): Readonly<Record<string, string>> {
  const { traceparent, tracestate } = trace;
  return { "X-Request-Id": requestId, traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
}
