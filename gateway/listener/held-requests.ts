import type { ClientBytes } from "#daemon/memory/connection-memory.ts";
import { smallBytes as atOnceBytes } from "../calls/large-message.ts";
import { ReceivedBytes } from "../wire/received-bytes.ts";

/** Size from which the bytes of an incomplete request are counted: most requests never have to wait. */
const smallBytes = 16_384;

/** Received but unanswered bytes on a connection, counted in the connection's memory. */
export class HeldRequests extends ReceivedBytes {
  readonly #memory: ClientBytes;
  #counted = 0;

  constructor(memory: ClientBytes) {
    super();
    this.#memory = memory;
  }

  /**
   * Appends a piece whose buffer is reused after its read. A message that is not small is copied, because processing it may take longer; if
   * anything else remains after the read, `own` must copy it.
   */
  borrow(piece: Buffer): void {
    this.append(piece);
    if (piece.length > atOnceBytes) this.own();
  }

  override drop(count: number): void {
    super.drop(count);
    if (this.#counted > 0) this.count();
  }

  /** Counts the waiting bytes. Returns false if they exceed the memory limit. */
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
