import type { ResponseFlow } from "../responses/response-sink.ts";
import { type NodeRead, notify } from "./node-read.ts";
import { nodeFailureErrors } from "../errors.ts";
import {
  formatErrorJsonResponse,
  formatErrorResponse,
  formatResultResponse,
  type NodeResponse,
} from "../json-rpc/read-answer.ts";

/** Number of slots for reads; a power of two, and several times the number of connections to the node. */
const places = 4_096;

/** An in-flight read that equal reads may join. */
export type ReadInFlight = Readonly<{
  /** The `buildCallKey` of method and parameters, and its `hashKey`. */
  key: string;
  hash: number;
  /** Generation of the head when the read started. */
  generation: number;
  /** Adds another caller's equal read: from now on, the call to the node also uses that caller's scheduling rounds. */
  join: (read: NodeRead) => ResponseFlow;
}>;

/** Joinable reads, by the hash of their keys. */
export type ReadsInFlight = Readonly<{
  get: (hash: number, key: string) => ReadInFlight | undefined;
  /** Returns whether there may be a read whose key has this hash. */
  mayHave: (hash: number) => boolean;
  /** Adds a read, replacing any earlier read in its slot. */
  add: (read: ReadInFlight) => void;
  /** Replaces a read, unless another read has taken its slot. */
  replace: (read: ReadInFlight, by: ReadInFlight) => void;
  /** Removes a read, unless another read has taken its slot. */
  remove: (read: ReadInFlight) => void;
}>;

/**
 * Creates an empty set of reads. Each hash has one slot, which belongs to the latest read: a read that lost its slot can no longer be
 * joined, but still completes. A map to which every read adds an entry and from which it removes that entry would cost several times as
 * much, and its abandoned tables keep alive whatever they once contained.
 */
export function createReadsInFlight(): ReadsInFlight {
  const reads: (ReadInFlight | undefined)[] = Array.from({ length: places });
  const computePlace = (hash: number) => hash & (places - 1);
  return {
    get: (hash, key) => {
      const read = reads[computePlace(hash)];
      return read?.hash === hash && read.key === key ? read : undefined;
    },
    mayHave: (hash) => reads[computePlace(hash)]?.hash === hash,
    add: (read) => {
      reads[computePlace(read.hash)] = read;
    },
    replace: (read, by) => {
      const place = computePlace(read.hash);
      if (reads[place] === read) reads[place] = by;
    },
    remove: (read) => {
      const place = computePlace(read.hash);
      if (reads[place] === read) reads[place] = undefined;
    },
  };
}

/** A read that joined the first reader of a call to the node. It becomes a separate call if the response is too long to be shared. */
export class JoinedRead implements ResponseFlow {
  readonly read: NodeRead;
  own: ResponseFlow | undefined;
  readonly #leave: (joined: JoinedRead) => void;

  constructor(read: NodeRead, leave: (joined: JoinedRead) => void) {
    this.read = read;
    this.#leave = leave;
  }

  resume(): void {
    this.own?.resume();
  }

  cancel(): void {
    if (this.own === undefined) this.#leave(this);
    else this.own.cancel();
  }
}

/** Sends a shared response to its readers, each under its own id. */
export function notifyJoined(answer: NodeResponse | undefined, joined: Iterable<JoinedRead>): void {
  for (const { read } of joined) notify(read, formatAnswer(answer, read.id), "coalesced", "coalesced");
}

function formatAnswer(answer: NodeResponse | undefined, id: string): string {
  if (answer === undefined) return formatErrorResponse(id, nodeFailureErrors.badAnswer);
  if (answer.kind === "result") return formatResultResponse(id, answer.json);
  return formatErrorJsonResponse(id, answer.json);
}
