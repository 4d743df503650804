import type { NodeFailure, CollectionFailure } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { copyToOwnMemory } from "../wire/received-bytes.ts";

/**
 * Origin of an answer, as the header `X-Gatehouse-Source` says. `mixed`: the parts of a batch or of a split range came
 * from several places, or began to be sent before all were there.
 */
export type AnswerSource = "gateway" | "cache" | "coalesced" | "node" | "mixed";

/** Returns the origin of an answer of several parts, with one more part. */
export function addSource(sofar: AnswerSource | undefined, part: AnswerSource): AnswerSource {
  return sofar === undefined || sofar === part ? part : "mixed";
}

/**
 * Receives the answer of one call or batch on its whole way from the node to the client: `text` or `bytes` once, or `begin`, `chunk`…, and
 * `end`; or `fail`, at any time before the answer is whole. Text is a binary string: one character a byte.
 */
export type AnswerSink = Readonly<{
  /** Whether it does nothing with an answer before its end: a short one may come as `bytes` then, in however many reads it came. */
  wantsWhole?: boolean;
  /**
   * Receives a whole answer. It may be a part of a longer text: what is to stay for long is copied, or all of that stays. With
   * `retryAfterSeconds` a limit made it: HTTP says so with 429 and Retry-After.
   */
  text: (json: string, source: AnswerSource, retryAfterSeconds?: number) => void;
  /** Receives a whole answer as the node sent it. The bytes hold until this returns: what is to stay is copied. */
  bytes: (body: Buffer, source: AnswerSource) => void;
  /** Begins a streamed answer; `lengthBytes` is its length if the node announced it. */
  begin: (lengthBytes: number | undefined, source: AnswerSource) => void;
  /** Receives bytes, which are the sink's to keep. False means that the sender has to wait for `flow.resume`. */
  chunk: (bytes: Buffer) => boolean;
  end: () => void;
  /**
   * Before `begin`: there is no answer, and whoever knows the call answers in its place. After it: the answer is cut short, and its reader must
   * not take what it has for whole.
   */
  fail: (failure: NodeFailure) => void;
}>;

/** Sending side of an answer in progress, as its reader controls it. */
export type AnswerFlow = Readonly<{
  /** Continues after `chunk` answered false. */
  resume: () => void;
  /** Cancels because the reader is gone: nothing more is sent to its sink. */
  cancel: () => void;
}>;

/** Flow of an answer that was complete before anyone could control it. */
export const finishedFlow: AnswerFlow = { resume: () => undefined, cancel: () => undefined };

/** Sink for an answer that nobody reads: to a notification. */
export const discardedAnswer: AnswerSink = {
  text: () => undefined,
  bytes: () => undefined,
  begin: () => undefined,
  chunk: () => true,
  end: () => undefined,
  fail: () => undefined,
};

/** Reason for which no more of an answer is collected. */
export type PartsFailure = Exclude<CollectionFailure, "broken">;

/**
 * Parts of one answer of at most `limitBytes`, counted in `memory` until they are released. They stay buffers, because those are not in the
 * heap, which is the smaller part of a process's memory. Without memory, whoever bounds the number of such answers bounds their bytes.
 */
export class AnswerParts {
  readonly #limitBytes: number;
  readonly #memory: HeldBytes | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(limitBytes: number, memory: HeldBytes | undefined) {
    this.#limitBytes = limitBytes;
    this.#memory = memory;
  }

  /** Length of all parts. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a part that the collector already has, even if it exceeds the limits. */
  hold(bytes: Buffer): PartsFailure | undefined {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    const mayBeHeld = this.#memory?.hold(bytes.length) ?? true;
    if (this.#bytes > this.#limitBytes) return "tooLong";
    return mayBeHeld ? undefined : "tooMuchHeld";
  }

  /**
   * Adds a part if it may be held; the readers that hold most and take nothing give way to it. A part of a much larger buffer is copied, so that
   * it does not keep all of that alive.
   */
  tryAdd(bytes: Buffer): PartsFailure | undefined {
    if (this.#bytes + bytes.length > this.#limitBytes) return "tooLong";
    if (this.#memory?.tryAcquire(bytes.length) === false) return "tooMuchHeld";
    this.#parts.push(copyToOwnMemory(bytes));
    this.#bytes += bytes.length;
    return undefined;
  }

  /** Returns all parts in one; they stay held. */
  joined(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** Returns the parts, and no longer holds them. */
  release(): readonly Buffer[] {
    const parts = this.#parts;
    this.#memory?.release(this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return parts;
  }
}
