import type { SharedTurns } from "../wire/shared-turns.ts";
import type { AnswerFlow } from "./answer-sink.ts";

/** Begins an answer when its caller's turn has come, unless its reader is gone by then. */
export function inTurn(turns: SharedTurns, caller: string, begin: () => AnswerFlow): AnswerFlow {
  let flow: AnswerFlow | undefined;
  let isCancelled = false;
  turns.wait(caller, () => {
    if (!isCancelled) flow = begin();
  });
  return {
    resume: () => flow?.resume(),
    cancel: () => {
      isCancelled = true;
      flow?.cancel();
    },
  };
}
