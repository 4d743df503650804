import type { AnswerSource } from "../dispatch/answer-sink.ts";

/** How a call ended, for the metrics: where its answer came from, or why it has none. */
export type CallOutcome = AnswerSource | "refused" | "limited" | "overload" | "failed" | "cancelled";

/** One call that ended. */
export type EndedCall = Readonly<{
  /** A name of the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  seconds: number;
  /** What the client calls its request, when it says so. */
  requestId: string | undefined;
}>;

/** Counts and times what the gateway does. */
export type Meter = Readonly<{
  call: (ended: EndedCall) => void;
  /** The node answered, or failed to. */
  node: (method: string, seconds: number) => void;
}>;
