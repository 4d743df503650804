import { resultText } from "../json-rpc/answer-text.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import { sourceWith, type AnswerSink, type AnswerSource } from "./answer-sink.ts";

/** Bytes of joined elements from which the answer begins to be sent before all of it is there. */
const streamFromBytes = 65_536;

/** Writes arrays that come in any order as one array, in the order of their places. */
export type JoinedWriter = Readonly<{
  /** Places that have been written, counted from the start without a gap. */
  turn: () => number;
  /** Bytes of all elements so far. */
  bytes: () => number;
  /** Whether a part of the answer is out: from then on it can only be completed or broken off. */
  hasBegun: () => boolean;
  isHeld: () => boolean;
  /** Sets the elements of a place, without the brackets around them, and where they came from. */
  put: (place: number, elements: string, source: AnswerSource) => void;
  /** Sends what is in turn. The last place ends the answer. */
  flush: () => void;
  resume: () => void;
}>;

/**
 * Makes a writer of `total` arrays as the result of the call with this id; `ending` is told before the last of it is sent. What waits is held in
 * `memory`; what is left there when the answer ends is its owner's to give back.
 */
export function makeJoinedWriter(
  total: number,
  id: string,
  { sink, memory, ending }: Readonly<{ sink: AnswerSink; memory: HeldBytes; ending: () => void }>,
): JoinedWriter {
  const ready = new Map<number, string>();
  let source: AnswerSource | undefined;
  const state = { turn: 0, bytes: 0, unsent: "", hasElements: false, hasBegun: false, isHeld: false };

  const sendPart = (text: string) => {
    if (!state.hasBegun) sink.begin(undefined, state.turn === total && source !== undefined ? source : "mixed");
    const head = state.hasBegun ? "" : `{"jsonrpc":"2.0","id":${id},"result":[`;
    state.hasBegun = true;
    memory.give(state.unsent.length);
    state.isHeld = !sink.chunk(Buffer.from(head + text, "latin1"));
    state.unsent = "";
  };
  return {
    turn: () => state.turn,
    bytes: () => state.bytes,
    hasBegun: () => state.hasBegun,
    isHeld: () => state.isHeld,
    put: (place, elements, from) => {
      ready.set(place, elements);
      source = sourceWith(source, from);
      state.bytes += elements.length;
      memory.hold(elements.length);
    },
    flush: () => {
      for (let own = ready.get(state.turn); own !== undefined; own = ready.get(state.turn)) {
        ready.delete(state.turn);
        state.turn += 1;
        if (own === "") continue;
        state.unsent += state.hasElements ? `,${own}` : own;
        state.hasElements = true;
      }
      if (state.isHeld) return;
      if (state.turn < total) {
        if (state.unsent.length >= streamFromBytes) sendPart(state.unsent);
        return;
      }
      ending();
      if (!state.hasBegun) sink.text(resultText(id, `[${state.unsent}]`), source ?? "node");
      else {
        sendPart(`${state.unsent}]}`);
        sink.end();
      }
    },
    resume: () => {
      state.isHeld = false;
    },
  };
}
