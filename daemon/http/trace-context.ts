/** A client's place in a distributed trace, well-formed (W3C Trace Context): it is passed on to the node, and spans continue it. */
export type TraceContext = Readonly<{ traceparent: string; tracestate: string | undefined }>;

/** Bounds of `tracestate` that is passed on (W3C Trace Context, section 3.3.1): what is longer is left out as a whole. */
const stateLength = 512;
const stateMembers = 32;

const parent = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const stateMember = /^[a-z\d][a-z\d_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Reads the headers of a trace; undefined without a well-formed `traceparent`, without which `tracestate` means nothing. Nothing
 * else of a client's headers reaches the node.
 */
export function readTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined {
  if (traceparent === undefined || !parent.test(traceparent)) return undefined;
  return { traceparent, tracestate: parseState(tracestate) };
}

/** Formats the headers of a trace for a request to the node, each line with its end. */
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
