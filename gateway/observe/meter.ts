import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { ResponseSource } from "../responses/response-sink.ts";

/** Outcome of a call, for the metrics: the source of its response, or the reason that there is none. */
export type CallOutcome =
  | Exclude<ResponseSource, "mixed">
  | "rejected"
  | "limited"
  | "overload"
  | "failed"
  | "cancelled";

/** A limit that may reject something, by its label in the metrics. */
export type LimitName = (typeof limitNames)[number];

export const limitNames = [
  "rate",
  "concurrency",
  "memory",
  "overload",
  "blockRange",
  "tracer",
  "batch",
  "message",
  "webSockets",
  "clients",
  "subscriptions",
] as const;

export type CompletedCall = Readonly<{
  /** A name from the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  seconds: number;
  requestId: string | undefined;
  /** Trace context from the client or from the gateway's own tracing. */
  traceContext?: TraceContext | undefined;
  /** Id of the gateway's own trace of the call, if there is one. */
  sampledTraceId?: string | undefined;
}>;

export type Meter = Readonly<{
  /** Counts a call, or `count` calls that all have these field values. */
  call: (ended: CompletedCall, count?: number) => void;
  /** Counts a response or failure from the node, or `count` of them, with the time since the query. */
  node: (method: string, seconds: number, sampledTraceId?: string, count?: number) => void;
  /** Counts a call, batch, subscription or connection rejected by a limit. */
  limited: (limit: LimitName, tier: string) => void;
}>;

/** Number of calls of one kind since the start. Names come from the catalogue and the settings, so the number of kinds is bounded. */
export type CallCount = Pick<CompletedCall, "method" | "tier" | "outcome"> & Readonly<{ count: number }>;

export type LimitedCount = Readonly<{ limit: LimitName; tier: string; count: number }>;

export type Traffic = Readonly<{ calls: readonly CallCount[]; limited: readonly LimitedCount[] }>;
