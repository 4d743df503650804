import type { HeldBytes } from "../memory/connection-memory.ts";
import { sourceWith, type AnswerSink, type AnswerSource } from "./answer-sink.ts";

/** Bytes of finished answers from which a batch's reply begins to be sent before all of it is there. */
const streamFromBytes = 65_536;
/** Most bytes of a reply that are not counted as held yet: to count each entry by itself costs more than to write it. */
const uncountedBytes = 4_096;

/** Writes a batch's entries in their order. */
export type BatchWriter = Readonly<{
  /** Places whose entries have been written, counted from the start without a gap. */
  turn: () => number;
  /** Bytes of the entries written. */
  bytes: () => number;
  /** Sets the entry of a place, empty for nothing, and where it came from. */
  put: (place: number, text: string, source: AnswerSource) => void;
  /** Sends what is to be sent. False when the reader has asked to wait. */
  flush: () => boolean;
  resume: () => void;
}>;

/** What a writer is made with. */
export type BatchWriterDependencies = Readonly<{
  sink: AnswerSink;
  /** Entries are held in it until they are sent. */
  memory: HeldBytes;
  /** What stands at a place when no room is left for its entry. */
  noRoom: (place: number) => string;
}>;

/** Makes a writer of `total` entries in `limitBytes`: short replies go out whole, long ones as they come. */
export function makeBatchWriter(
  total: number,
  limitBytes: number,
  { sink, memory, noRoom }: BatchWriterDependencies,
): BatchWriter {
  /** Entries that came before their turn. */
  const ready = new Map<number, Readonly<{ text: string; source: AnswerSource }>>();
  let source: AnswerSource | undefined;
  let turn = 0;
  let bytes = 0;
  let unsent = "";
  let hasBegun = false;
  let isHeld = false;
  let isOver = false;
  /** Of what is unsent. */
  let held = 0;

  const write = (own: string, from: AnswerSource) => {
    const hasRoom = bytes + own.length <= limitBytes;
    const entry = hasRoom || own === "" ? own : noRoom(turn);
    turn += 1;
    if (entry === "") return;
    unsent += bytes === 0 ? `[${entry}` : `,${entry}`;
    bytes += entry.length;
    source = sourceWith(source, hasRoom ? from : "gateway");
    if (unsent.length - held < uncountedBytes) return;
    memory.hold(unsent.length - held);
    held = unsent.length;
  };
  const sendPart = (text: string) => {
    memory.give(held);
    held = 0;
    if (!hasBegun) sink.begin(undefined, isOver && source !== undefined ? source : "mixed");
    hasBegun = true;
    isHeld = !sink.chunk(Buffer.from(text, "latin1"));
    unsent = "";
  };
  return {
    turn: () => turn,
    bytes: () => bytes,
    put: (place, text, from) => {
      if (place !== turn) {
        memory.hold(text.length);
        ready.set(place, { text, source: from });
        return;
      }
      write(text, from);
      if (ready.size === 0) return;
      for (let next = ready.get(turn); next !== undefined; next = ready.get(turn)) {
        ready.delete(turn);
        memory.give(next.text.length);
        write(next.text, next.source);
      }
    },
    resume: () => {
      isHeld = false;
    },
    flush: () => {
      if (isOver) return true;
      isOver = turn === total;
      if (isOver && !hasBegun) {
        memory.give(held);
        sink.text(bytes === 0 ? "" : `${unsent}]`, source ?? "gateway");
      } else if (isOver) {
        sendPart(`${unsent}]`);
        sink.end();
      } else if (unsent.length >= streamFromBytes) sendPart(unsent);
      return !isHeld;
    },
  };
}
