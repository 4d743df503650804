import type { SharedTurns } from "../wire/shared-turns.ts";
import type { AnswerFlow } from "../answers/answer-sink.ts";
import { LateFlow } from "./late-flow.ts";

/** Begins an answer when its caller's turn has come, unless its reader is gone by then. */
export function inTurn(turns: SharedTurns, caller: string, begin: () => AnswerFlow): AnswerFlow {
  const flow = new LateFlow();
  turns.wait(caller, () => flow.begin(begin));
  return flow;
}
