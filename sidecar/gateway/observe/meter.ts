import type { AnswerSource } from "../dispatch/answer-sink.ts";

/** How a call ended, for the metrics: where its answer came from, or why it has none. */
export type CallOutcome = AnswerSource | "refused" | "limited" | "overload" | "failed" | "cancelled";

/** Counts and times what the gateway does. */
export type Meter = Readonly<{
  /** One call ended. `method` is a name of the catalogue or `unknown`. */
  call: (method: string, tier: string, outcome: CallOutcome, seconds: number) => void;
  /** The node answered, or failed to. */
  node: (method: string, seconds: number) => void;
}>;
