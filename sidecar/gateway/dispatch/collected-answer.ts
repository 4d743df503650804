import type { NodeFailure, NodeSink } from "../upstream/node-call.ts";

/** Takes a collected answer. */
export type CollectedTaker = Readonly<{
  /** The whole answer as a binary string. */
  whole: (text: string) => void;
  fail: (failure: NodeFailure) => void;
  /** The answer is longer than may be collected: what has come so far, and its length when the node told it. */
  tooLong: (sofar: readonly Buffer[], lengthBytes: number | undefined) => NodeSink | undefined;
}>;

/** Collects an answer of at most `limitBytes`. A longer one goes on to the sink that `tooLong` gives, or is let run dry. */
export function collectAnswer(limitBytes: number, taker: CollectedTaker): NodeSink {
  let parts: Buffer[] = [];
  let size = 0;
  let length: number | undefined;
  let onward: NodeSink | undefined;
  let spilled = false;
  const spill = () => {
    spilled = true;
    onward = taker.tooLong(parts, length);
    parts = [];
  };
  return {
    whole: (body) => taker.whole(body.toString("latin1")),
    begin: (lengthBytes) => {
      length = lengthBytes;
      if (lengthBytes !== undefined && lengthBytes > limitBytes) spill();
    },
    chunk: (bytes) => {
      if (spilled) return onward?.chunk(bytes) ?? true;
      parts.push(bytes);
      size += bytes.length;
      if (size > limitBytes) spill();
      return true;
    },
    end: () => {
      if (spilled) onward?.end();
      else taker.whole(Buffer.concat(parts).toString("latin1"));
    },
    fail: (failure) => {
      if (spilled) onward?.fail(failure);
      else taker.fail(failure);
    },
  };
}
