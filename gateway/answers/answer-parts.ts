import type { CollectionFailure } from "../errors.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import { ownBytes } from "../wire/own-bytes.ts";

/** Why no more of an answer is collected. */
export type PartsFailure = Exclude<CollectionFailure, "broken">;

/**
 * The parts of one answer of at most `limitBytes`, counted in `memory` until they are released. They stay buffers, because those are not in the
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

  /** Adds a part of the collector's own that is here already, whether or not it may be. */
  hold(bytes: Buffer): PartsFailure | undefined {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    const mayBeHeld = this.#memory?.hold(bytes.length) ?? true;
    if (this.#bytes > this.#limitBytes) return "tooLong";
    return mayBeHeld ? undefined : "tooMuchHeld";
  }

  /** Adds a part if it may be held; for its sake those give way who hold most and take nothing. What is more than the part is copied. */
  take(bytes: Buffer): PartsFailure | undefined {
    if (this.#bytes + bytes.length > this.#limitBytes) return "tooLong";
    if (this.#memory?.take(bytes.length) === false) return "tooMuchHeld";
    this.#parts.push(ownBytes(bytes));
    this.#bytes += bytes.length;
    return undefined;
  }

  /** All parts in one; they stay held. */
  joined(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** Gives the parts up, and no longer holds them. */
  release(): readonly Buffer[] {
    const parts = this.#parts;
    this.#memory?.give(this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return parts;
  }
}
