import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { AnswerSource } from "../answers/answer-sink.ts";

/** How a call ended, for the metrics: where its answer came from, or why it has none. */
export type CallOutcome = Exclude<AnswerSource, "mixed"> | "refused" | "limited" | "overload" | "failed" | "cancelled";

/** A limit that can refuse something, as the metrics name it. */
export type LimitName = (typeof limitNames)[number];

/** Every limit. */
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

/** One call that ended. */
export type EndedCall = Readonly<{
  /** A name of the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  seconds: number;
  /** What the client calls its request, when it says so. */
  requestId: string | undefined;
  /** The trace that the client, or the gateway's own tracing, put it into. */
  traceContext?: TraceContext | undefined;
  /** The id of the gateway's own trace of it, where one is made. */
  sampledTraceId?: string | undefined;
}>;

/** Counts and times what the gateway does. */
export type Meter = Readonly<{
  call: (ended: EndedCall) => void;
  /** The node answered, or failed to; counted from when it was queried, so that the gateway's own part can be told apart. */
  node: (method: string, seconds: number, sampledTraceId?: string) => void;
  /** A limit refused a call, a batch, a subscription or a connection. */
  limited: (limit: LimitName, tier: string) => void;
}>;
