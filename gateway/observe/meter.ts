import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { AnswerSource } from "../answers/answer-sink.ts";

/** Outcome of a call, for the metrics: the origin of its answer, or the reason why it has none. */
export type CallOutcome = Exclude<AnswerSource, "mixed"> | "refused" | "limited" | "overload" | "failed" | "cancelled";

/** A limit that can refuse something, as the metrics name it. */
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

/** One call that ended. */
export type EndedCall = Readonly<{
  /** A name of the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  seconds: number;
  /** The client's id of its request, if it sent one. */
  requestId: string | undefined;
  /** Trace that the client, or the gateway's own tracing, put it into. */
  traceContext?: TraceContext | undefined;
  /** Id of the gateway's own trace of it, if there is one. */
  sampledTraceId?: string | undefined;
}>;

/** Counts and times the gateway's work. */
export type Meter = Readonly<{
  /** Counts a call, or `count` of them that differ in nothing that is shown here. */
  call: (ended: EndedCall, count?: number) => void;
  /**
   * Counts an answer of the node, or its failure, or `count` of them, with the time since it was queried, so that the gateway's own part can be told
   * apart.
   */
  node: (method: string, seconds: number, sampledTraceId?: string, count?: number) => void;
  /** Counts a call, a batch, a subscription or a connection that a limit refused. */
  limited: (limit: LimitName, tier: string) => void;
}>;
