import type { NodeFailure } from "../errors.ts";
import type { AnswerSink } from "../answers/answer-sink.ts";

/** What became of a call to the node. */
export type ReadOutcome = "answered" | "coalesced" | "cancelled" | NodeFailure;

/** One client's part in a read. */
export type Reader = Readonly<{
  /** JSON text of the id that its answer carries. */
  id: string;
  sink: AnswerSink;
  /** Called once, when nothing more comes. */
  done: (outcome: ReadOutcome) => void;
}>;
