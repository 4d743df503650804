import type { MemoryBudget, MemoryHolder } from "./memory-budget.ts";

/** The address to which a connection's bytes are charged, and a function to close the connection. */
export type ConnectionMemoryOwner = Readonly<{
  /** The address to which the connection's bytes are charged; read when the connection first acquires some. */
  address: () => string;
  /** Closes the connection at once to free its memory for others. */
  cut: () => void;
}>;

/** Accounting for the bytes that a response or a call holds. */
export type HeldBytes = Pick<ConnectionMemory, "hold" | "tryAcquire" | "release">;

/** Accounting for the bytes of a client that has yet to read its output or to send the rest of its input. */
export type ClientBytes = HeldBytes & Pick<ConnectionMemory, "waits">;

/** The bytes held for a connection. */
export class ConnectionMemory implements MemoryHolder, Disposable {
  readonly #budget: MemoryBudget;
  readonly #owner: ConnectionMemoryOwner;
  #address: string | undefined;
  #bytes = 0;
  #waitingBytes = 0;
  #progress = 0;
  #isClosed = false;

  constructor(budget: MemoryBudget, owner: ConnectionMemoryOwner) {
    this.#budget = budget;
    this.#owner = owner;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isWaiting(): boolean {
    return this.#waitingBytes > 0;
  }

  /** Adjusts the number of held bytes that are waiting for the client to read them. */
  waits(bytes: number): void {
    // Progress: the client has read some bytes, or starts over with nothing pending.
    if (bytes < 0 || this.#waitingBytes === 0) this.#progress = this.#budget.nextProgress();
    this.#waitingBytes += bytes;
  }

  get progress(): number {
    return this.#progress;
  }

  /** Charges bytes that are already in memory. Returns false above the limit: the caller should accept no more. */
  hold(bytes: number): boolean {
    this.#add(bytes);
    const isWithin = this.#bytes <= this.#budget.options.connectionBytes;
    return isWithin && this.#budget.hasRoom(this.#address ?? "", 0);
  }

  /** Charges bytes if the limits allow it. Disconnects the slowest clients of other addresses to free memory. */
  tryAcquire(bytes: number): boolean {
    if (this.#isClosed || this.#bytes + bytes > this.#budget.options.connectionBytes) return false;
    if (!this.#budget.createRoom(this.#address ?? this.#owner.address(), bytes, this)) return false;
    this.#add(bytes);
    return true;
  }

  /** Releases held bytes. */
  release(bytes: number): void {
    this.#add(-bytes);
  }

  cut(): void {
    this[Symbol.dispose]();
    this.#owner.cut();
  }

  [Symbol.dispose](): void {
    this.#add(-this.#bytes);
    this.#isClosed = true;
  }

  #add(bytes: number): void {
    if (this.#isClosed || bytes === 0) return;
    this.#address ??= this.#owner.address();
    this.#bytes += bytes;
    this.#budget.add(this.#address, this, bytes);
    if (this.#bytes === 0) this.#address = undefined;
  }
}
