import type { HeldBytes } from "../memory/connection-memory.ts";
import { sourceWith, type AnswerSink, type AnswerSource } from "./answer-sink.ts";

/** Bytes of finished answers from which a batch's reply begins to be sent before all of it is there. */
const streamFromBytes = 65_536;

/** What stands at a place of the reply, empty for nothing, and what stands there when no room is left. */
export type BatchEntry = Readonly<{ text: string; noRoom: string; source: AnswerSource }>;

/** Writes a batch's entries in their order. */
export type BatchWriter = Readonly<{
  /** Places whose entries have been written, counted from the start without a gap. */
  turn: () => number;
  /** Bytes of the entries written. */
  bytes: () => number;
  /** Sets the entry of a place. */
  put: (place: number, entry: BatchEntry) => void;
  /** Writes what is in turn. False when the reader has asked to wait. */
  flush: () => boolean;
  resume: () => void;
}>;

/**
 * Makes a writer of `total` entries in `limitBytes`: short replies go out whole, long ones as they come. Entries are held in `memory` until
 * they are written.
 */
export function makeBatchWriter(
  total: number,
  limitBytes: number,
  { sink, memory }: Readonly<{ sink: AnswerSink; memory: HeldBytes }>,
): BatchWriter {
  const ready = new Map<number, BatchEntry>();
  let source: AnswerSource | undefined;
  let turn = 0;
  let bytes = 0;
  let unsent = "";
  let hasBegun = false;
  let isHeld = false;
  let isOver = false;
  /** Of what is unsent. */
  let held = 0;

  const takeTurns = () => {
    for (let own = ready.get(turn); own !== undefined; own = ready.get(turn)) {
      const hasRoom = bytes + own.text.length <= limitBytes;
      const entry = hasRoom ? own.text : own.noRoom;
      ready.delete(turn);
      turn += 1;
      memory.give(own.text.length);
      if (entry === "") continue;
      unsent += bytes === 0 ? `[${entry}` : `,${entry}`;
      memory.hold(entry.length);
      held += entry.length;
      bytes += entry.length;
      source = sourceWith(source, hasRoom ? own.source : "gateway");
    }
  };
  const letGo = () => {
    memory.give(held);
    held = 0;
  };
  const sendPart = (text: string) => {
    letGo();
    if (!hasBegun) sink.begin(undefined, isOver && source !== undefined ? source : "mixed");
    hasBegun = true;
    isHeld = !sink.chunk(Buffer.from(text, "latin1"));
    unsent = "";
  };
  return {
    turn: () => turn,
    bytes: () => bytes,
    put: (place, entry) => {
      memory.hold(entry.text.length);
      ready.set(place, entry);
    },
    resume: () => {
      isHeld = false;
    },
    flush: () => {
      if (isOver) return true;
      takeTurns();
      isOver = turn === total;
      if (isOver && !hasBegun) {
        letGo();
        sink.text(bytes === 0 ? "" : `${unsent}]`, source ?? "gateway");
      } else if (isOver) {
        sendPart(`${unsent}]`);
        sink.end();
      } else if (unsent.length >= streamFromBytes) sendPart(unsent);
      return !isHeld;
    },
  };
}
