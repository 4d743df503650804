import type { MemoryBudget, MemoryHolder } from "./memory-budget.ts";

/** Address that a connection's bytes count for, and the way to end the connection. */
export type ConnectionMemoryOwner = Readonly<{
  /** The address that its bytes count for: asked when it begins to hold some. */
  address: () => string;
  /** Ends the connection at once, because others need what it holds. */
  cut: () => void;
}>;

/** Accounting of the bytes that an answer or a call holds. */
export type HeldBytes = Pick<ConnectionMemory, "hold" | "tryAcquire" | "release">;

/** Accounting of bytes that wait for a client to read them, or to send the rest. */
export type ClientBytes = HeldBytes & Pick<ConnectionMemory, "waits">;

/** The bytes that are held for one connection. */
export class ConnectionMemory implements MemoryHolder, Disposable {
  readonly #budget: MemoryBudget;
  readonly #owner: ConnectionMemoryOwner;
  #address: string | undefined;
  #bytes = 0;
  #waitingBytes = 0;
  #progress = 0;
  #isOver = false;

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

  /** So many bytes more, or less, of those that are held wait for the client itself. */
  waits(bytes: number): void {
    // Who takes something shows that it is there; who has nothing more to take starts over.
    if (bytes < 0 || this.#waitingBytes === 0) this.#progress = this.#budget.nextProgress();
    this.#waitingBytes += bytes;
  }

  get progress(): number {
    return this.#progress;
  }

  /** Holds bytes that are there already. False when more is held than allowed: no more should come. */
  hold(bytes: number): boolean {
    this.#add(bytes);
    const isWithin = this.#bytes <= this.#budget.options.connectionBytes;
    return isWithin && this.#budget.hasRoom(this.#address ?? "", 0);
  }

  /** Holds bytes if they may be held. For their sake the slowest of other addresses are cut off. */
  tryAcquire(bytes: number): boolean {
    if (this.#isOver || this.#bytes + bytes > this.#budget.options.connectionBytes) return false;
    if (!this.#budget.createRoom(this.#address ?? this.#owner.address(), bytes, this)) return false;
    this.#add(bytes);
    return true;
  }

  /** Releases bytes that were held. */
  release(bytes: number): void {
    this.#add(-bytes);
  }

  /** Ends the connection. What it holds no longer counts. */
  cut(): void {
    this[Symbol.dispose]();
    this.#owner.cut();
  }

  /** The connection is gone. */
  [Symbol.dispose](): void {
    this.#add(-this.#bytes);
    this.#isOver = true;
  }

  #add(bytes: number): void {
    if (this.#isOver || bytes === 0) return;
    this.#address ??= this.#owner.address();
    this.#bytes += bytes;
    this.#budget.add(this.#address, this, bytes);
    if (this.#bytes === 0) this.#address = undefined;
  }
}
