import type { Secret } from "#daemon/secrets/secret.ts";
import type { Caller } from "../callers/caller.ts";
import type { EndedCall } from "./meter.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";

/** Origin of a message, for its trace. */
export type TraceOrigin = Readonly<{
  caller: Caller;
  /** Trace context that the client sent. */
  traceContext: TraceContext | undefined;
}>;

/** One call as it is traced. */
export type CallTrace = Readonly<{
  /** Id of its trace; undefined if no span of it is sent. */
  sampledTraceId: string | undefined;
  /** Begins the node's part of the call; returns the trace context that goes to the node. */
  requestNode: () => TraceContext;
  end: (ended: EndedCall) => void;
}>;

/** One batch as it is traced: a span around the spans of its calls. */
export type BatchTrace = Readonly<{ call: () => CallTrace; end: () => void }>;

/** Makes spans of messages; never of their parameters, and of no name that only a client knows. */
export type Tracing = Readonly<{
  call: (origin: TraceOrigin) => CallTrace;
  batch: (origin: TraceOrigin, items: number) => BatchTrace;
}>;

/** Destination of the spans, and the share of the calls that have some. */
export type TracingOptions = Readonly<{
  otlpUrl?: string | undefined;
  authorization?: Secret | undefined;
  serviceName: string;
  sampleRatio: number;
  queuedSpans: number;
  timeoutMs: number;
}>;

/** Running tracing, or none. Disposing of it sends the spans that wait. */
export type RunningTracing = AsyncDisposable & Readonly<{ tracing: Tracing | undefined }>;
