import type { ClientBytes } from "#daemon/memory/connection-memory.ts";
import { smallBytes as atOnceBytes } from "../calls/large-message.ts";
import { ReceivedBytes } from "../wire/received-bytes.ts";

/** Bytes of an unfinished request from which they count: those of most requests never wait. */
const smallBytes = 16_384;

/** Bytes that were read of a connection and not answered, counted as held for it. */
export class HeldRequests extends ReceivedBytes {
  readonly #memory: ClientBytes;
  #counted = 0;

  constructor(memory: ClientBytes) {
    super();
    this.#memory = memory;
  }

  /**
   * Appends a piece whose memory is used again after its read. What may be worked on for longer, a message that is not small, is copied; of the
   * rest, what is left when the read is over is to be copied by `own`.
   */
  borrow(piece: Buffer): void {
    this.append(piece);
    if (piece.length > atOnceBytes) this.own();
  }

  override drop(count: number): void {
    super.drop(count);
    if (this.#counted > 0) this.count();
  }

  /** Counts the waiting bytes. Returns false if so many may not be held. */
  count(): boolean {
    if (this.length <= smallBytes && this.#counted === 0) return true;
    const more = (this.length > smallBytes ? this.heldBytes : 0) - this.#counted;
    if (more > 0 && !this.#memory.tryAcquire(more)) return false;
    if (more < 0) this.#memory.release(-more);
    this.#memory.waits(more);
    this.#counted += more;
    return true;
  }
}
