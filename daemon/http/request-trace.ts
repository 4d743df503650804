import { randomUUID } from "node:crypto";
import type { TraceContext } from "./trace-context.ts";

/** Ids that correlate the log lines of a request across services. */
export type RequestTrace = Readonly<{ requestId: string; trace: TraceContext }>;

/** Starts a trace for a request without one (W3C Trace Context, section 3.2.2); requests no spans. */
export function startTrace(): TraceContext {
  // Node draws UUIDs from a pool of random bytes; requesting a few random bytes directly takes ten times as long.
  const ids = `${randomUUID()}${randomUUID()}`.replaceAll("-", "");
  return { traceparent: `00-${ids.slice(0, 32)}-${ids.slice(32, 48)}-00`, tracestate: undefined };
}

/** Reads the trace id, as it appears in logs. */
export function readTraceId({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35);
}

/** Formats the trace fields of a request for a log line. */
export function formatTraceInfo({ requestId, trace }: RequestTrace): Readonly<{ requestId: string; traceId: string }> {
  return { requestId, traceId: readTraceId(trace) };
}

/** Returns the headers with which the next service correlates its log lines with the request. */
export function requestTraceHeaders({ requestId, trace }: RequestTrace): Readonly<Record<string, string>> {
  const { traceparent, tracestate } = trace;
  return { "X-Request-Id": requestId, traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
}
