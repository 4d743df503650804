import type { Secret } from "#daemon/secrets/secret.ts";
import type { Caller } from "../callers/caller.ts";
import type { CompletedCall } from "./meter.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";

/** Origin of a message, for use in its trace. */
export type TraceOrigin = Readonly<{
  caller: Caller;
  /** Trace context sent by the client. */
  traceContext: TraceContext | undefined;
}>;

/** Trace of one call. */
export type CallTrace = Readonly<{
  /** Id of the trace; undefined if none of its spans is exported. */
  sampledTraceId: string | undefined;
  /** Starts the node's part of the call. Returns the trace context to send to the node. */
  requestNode: () => TraceContext;
  end: (ended: CompletedCall) => void;
}>;

/** Trace of one batch: a span that contains the spans of its calls. */
export type BatchTrace = Readonly<{ call: () => CallTrace; end: () => void }>;

/** Creates spans for messages. Spans never contain parameters, or names known only to a client. */
export type Tracing = Readonly<{
  call: (origin: TraceOrigin) => CallTrace;
  batch: (origin: TraceOrigin, items: number) => BatchTrace;
}>;

/** Destination of the spans, and the share of calls to sample. */
export type TracingOptions = Readonly<{
  otlpUrl?: string | undefined;
  authorization?: Secret | undefined;
  serviceName: string;
  sampleRatio: number;
  queuedSpans: number;
  timeoutMs: number;
}>;

/** The running tracing, or a no-op. Disposing of it exports the pending spans. */
export type RunningTracing = AsyncDisposable & Readonly<{ tracing: Tracing | undefined }>;
