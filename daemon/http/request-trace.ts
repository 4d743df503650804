import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A client's well-formed trace context (W3C Trace Context): forwarded to the node, and continued by spans. */
export type TraceContext = Readonly<{ traceparent: string; tracestate: string | undefined }>;

/** Limits of a forwarded `tracestate` (W3C Trace Context, section 3.3.1): a longer one is dropped entirely. */
const stateLength = 512;
const stateMembers = 32;

const parent = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const stateMember = /^[a-z\d][a-z\d_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Reads the trace headers; undefined without a well-formed `traceparent`. No other client header reaches the node. */
export function readTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined {
  if (traceparent === undefined || !parent.test(traceparent)) return undefined;
  return { traceparent, tracestate: parseState(tracestate) };
}

/** Formats the trace headers for a request to the node, each line with its terminator. */
export function formatTraceHeaders({ traceparent, tracestate }: TraceContext): string {
  const state = tracestate === undefined ? "" : `tracestate: ${tracestate}\r\n`;
  return `traceparent: ${traceparent}\r\n${state}`;
}

function parseState(value: string | undefined): string | undefined {
  if (value === undefined || value.length > stateLength) return undefined;
  const members = value
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length === 0 || members.length > stateMembers) return undefined;
  return members.every((member) => stateMember.test(member)) ? members.join(",") : undefined;
}

/** Ids that correlate the log lines of a request across services. */
export type RequestTrace = Readonly<{ requestId: string; trace: TraceContext }>;

const requestIdPattern = /^[\w\-=]{1,255}$/;

/** Returns the client's request id if it is well-formed, otherwise a new one. */
export function chooseRequestId(sent: string | undefined): string {
  return sent !== undefined && requestIdPattern.test(sent) ? sent : randomUUID();
}

/** Reads a client's request id and trace from the headers of a request parsed by node:http, or starts new ones. */
export function readRequestTrace(headers: IncomingHttpHeaders): RequestTrace {
  const context = readTraceContext(readHeader(headers, "traceparent"), readHeader(headers, "tracestate"));
  return { requestId: chooseRequestId(readHeader(headers, "x-request-id")), trace: context ?? startTrace() };
}

/** Reads a header's value; repeated headers are joined (RFC 9110, section 5.3). */
export function readHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Starts a trace for a request without one (W3C Trace Context, section 3.2.2); requests no spans. */
export function startTrace(): TraceContext {
  // Node draws UUIDs from a pool of random bytes; requesting a few random bytes directly takes ten times as long.
  const ids = `${randomUUID()}${randomUUID()}`.replaceAll("-", "");
  return { traceparent: `00-${ids.slice(0, 32)}-${ids.slice(32, 48)}-00`, tracestate: undefined };
}

export function readTraceId({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35);
}

export function formatTraceInfo({ requestId, trace }: RequestTrace): Readonly<{ requestId: string; traceId: string }> {
  return { requestId, traceId: readTraceId(trace) };
}

/** Returns the headers with which the next service correlates its log lines with the request. */
export function requestTraceHeaders({ requestId, trace }: RequestTrace): Readonly<Record<string, string>> {
  const { traceparent, tracestate } = trace;
  return { "X-Request-Id": requestId, traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
}
