/** A client's well-formed trace context (W3C Trace Context): forwarded to the node, and continued by spans. */
export type TraceContext = Readonly<{ traceparent: string; tracestate: string | undefined }>;

/** Limits of a forwarded `tracestate` (W3C Trace Context, section 3.3.1): a longer one is dropped entirely. */
const stateLength = 512;
const stateMembers = 32;

const parent = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const stateMember = /^[a-z\d][a-z\d_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Reads the trace headers; undefined without a well-formed `traceparent`, without which `tracestate` is meaningless. No other client header
 * reaches the node.
 */
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
