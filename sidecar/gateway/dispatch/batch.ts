import { errorText } from "../envelope/answer-text.ts";
import { isBad, type BadCall, type Call } from "../envelope/call.ts";
import { rpcErrors } from "../envelope/rpc-error.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import { HeldScope } from "../memory/held-scope.ts";
import type { AnswerFlow, AnswerSink } from "./answer-sink.ts";
import { makeBatchWriter } from "./batch-writer.ts";
import type { NodeBatch } from "../upstream/node-batches.ts";
import type { Turns } from "./turns.ts";
import { textSink, type NoText, type TextAnswer } from "./text-sink.ts";

/** What the shortest call of a batch counts for in a turn of the event loop. */
const callBytes = 128;

/** Bounds of a batch under way. */
export type BatchLimits = Readonly<{
  /**
   * How far ahead of the first unanswered call this one may start: a number of calls; `inTurn`: it starts when all before it are
   * answered, and those after it start when it is.
   */
  ahead: (call: Call | BadCall) => number | "inTurn";
  responseBytes: number;
}>;

/** What a batch is answered with, and what is held for its caller's connection. */
export type BatchDependencies = Readonly<{
  handle: (call: Call | BadCall, sink: AnswerSink) => AnswerFlow;
  sink: AnswerSink;
  memory: HeldBytes;
  turns: Turns;
  /** Calls that are started one after another go to the node together, also when that takes several turns. */
  toNode: Pick<NodeBatch, "gather" | "release">;
}>;

/**
 * Answers the calls of a batch, in their order; those that finish early wait for their turn, and no call starts further ahead than it may.
 * Calls that are answered at once are left for a later turn of the event loop when they take too long together. Notifications are run and
 * have no entry; when nothing has an entry the answer is empty text. Answers beyond `responseBytes` are replaced by errors, as geth does it.
 */
export function runBatch(
  calls: readonly (Call | BadCall)[],
  limits: BatchLimits,
  { handle, sink, memory, turns, toNode }: BatchDependencies,
): AnswerFlow {
  const held = new HeldScope(memory);
  const writer = makeBatchWriter(calls.length, limits.responseBytes, { sink, memory: held });
  const flows = new Map<number, AnswerFlow>();
  const settled = new Set<number>();
  const state = { next: 0, firstAfterTurn: 0, isCancelled: false, isRunning: false };

  const settle = (place: number, { id }: Call | BadCall, answer: TextAnswer | NoText) => {
    flows.delete(place);
    settled.add(place);
    const source = typeof answer === "string" ? "gateway" : answer.source;
    writer.put(place, { text: entryText(id, answer), noRoom: entryText(id, "tooLong"), source });
    run();
  };
  const start = (place: number, call: Call | BadCall) => {
    if (writer.bytes() >= limits.responseBytes) settle(place, call, "tooLong");
    else {
      const itemSink = textSink(limits.responseBytes, held, (answer) => settle(place, call, answer));
      const flow = handle(call, itemSink);
      if (state.isCancelled) flow.cancel();
      else if (!settled.has(place)) flows.set(place, flow);
    }
  };
  const mayStart = (call: Call | BadCall) => {
    const turn = writer.turn();
    if (turn < state.firstAfterTurn) return false;
    const ahead = limits.ahead(call);
    if (ahead !== "inTurn") return state.next < turn + ahead;
    if (state.next !== turn) return false;
    state.firstAfterTurn = turn + 1;
    return true;
  };
  const step = () => {
    const call = writer.flush() ? calls[state.next] : undefined;
    state.isRunning = call !== undefined && mayStart(call);
    if (call === undefined || !state.isRunning) {
      state.isRunning = false;
      toNode.release();
      return 0;
    }
    state.next += 1;
    start(state.next - 1, call);
    return Math.max(callBytes, isBad(call) ? 0 : (call.params?.length ?? 0));
  };
  const run = () => {
    // An answer that comes at once, or before a later turn, calls back into here; the steps see what it changed.
    if (state.isRunning || state.isCancelled) return;
    state.isRunning = true;
    toNode.gather();
    turns.run(step, () => state.isCancelled);
  };
  run();
  return {
    resume: () => {
      writer.resume();
      run();
    },
    cancel: () => {
      state.isCancelled = true;
      held[Symbol.dispose]();
      for (const flow of flows.values()) flow.cancel();
      flows.clear();
      // Another caller may wait for a call that it shares with this batch.
      toNode.release();
    },
  };
}

/** The entry of an answer; a notification has none. */
function entryText(id: string | undefined, answer: TextAnswer | NoText): string {
  if (id === undefined) return "";
  if (answer === "tooMuchHeld") return errorText(id, rpcErrors.tooMuchHeld);
  if (answer === "tooLong") return errorText(id, rpcErrors.responseTooLarge);
  return answer === "broken" ? errorText(id, rpcErrors.nodeUnavailable) : answer.text.trimEnd();
}
