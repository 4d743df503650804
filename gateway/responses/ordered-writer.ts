import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { appendSource, type ResponseSink, type ResponseSource } from "./response-sink.ts";

/** Number of unsent bytes at which streaming starts before the response is complete. */
const streamThresholdBytes = 65_536;
/** Max unsent bytes that are not counted as buffered: counting each entry costs more than writing it. */
const uncountedBytes = 4_096;

export type OrderedWriterOptions = Readonly<{
  slots: number;
  /** Text before the first and after the last entry. Entries are separated by commas. */
  head: string;
  tail: string;
  empty: string;
}>;

export type OrderedWriterDependencies = Readonly<{
  sink: ResponseSink;
  memory: HeldBytes;
  /** Limits the total size: the first entry that does not fit, and all entries after it, are replaced. If absent, the caller checks `bytes`. */
  room?: Readonly<{ limitBytes: number; entryWithout: (slot: number) => string }>;
  /** If a limit caused all entries so far, returns the seconds to wait before a retry: the entries are then sent as one complete limit response. */
  retryAfterSeconds?: () => number | undefined;
  /** Called once, before the last part of the response is sent. */
  ending?: () => void;
}>;

/** An entry: a binary string, or, if long, parts that are sent unchanged. */
export type Entry = string | readonly Buffer[];

function measureEntry(entry: Entry): number {
  return typeof entry === "string" ? entry.length : entry.reduce((sum, { length }) => sum + length, 0);
}

/** Writes entries, which arrive in any order, in slot order. Short responses are sent whole; long ones are streamed. */
export class OrderedWriter {
  readonly #options: OrderedWriterOptions;
  readonly #dependencies: OrderedWriterDependencies;
  /** Entries that arrived out of order; created with the first one. */
  #ready: Map<number, Readonly<{ entry: Entry; source: ResponseSource | undefined }>> | undefined;
  #readyBytes = 0;
  #source: ResponseSource | undefined;
  #turn = 0;
  #writtenBytes = 0;
  /** Unsent parts, followed by the unsent text. */
  #unsentParts: Buffer[] = [];
  #unsent = "";
  #unsentBytes = 0;
  /** Number of unsent bytes that are counted in memory. */
  #heldBytes = 0;
  #isFull = false;
  #hasBegun = false;
  #isHeld = false;
  #isEnding = false;
  #isFinished = false;

  constructor(options: OrderedWriterOptions, dependencies: OrderedWriterDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  get turn(): number {
    return this.#turn;
  }

  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether an entry did not fit: no entry is written after it. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Total size of all entries so far, in bytes, including those waiting for earlier slots. */
  get bytes(): number {
    return this.#writtenBytes + this.#readyBytes;
  }

  /** Whether part of the response has been sent: if so, it can only be completed or aborted. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Sets the entry of a slot (empty for none) and its origin (undefined if not reported). */
  put(slot: number, entry: Entry, source: ResponseSource | undefined): void {
    if (slot !== this.#turn) {
      const length = measureEntry(entry);
      this.#dependencies.memory.hold(length);
      this.#readyBytes += length;
      this.#ready ??= new Map();
      this.#ready.set(slot, { entry, source });
      return;
    }
    this.#write(entry, source);
    this.#writeReady();
  }

  /** Whether entries of this total size, starting at this slot, would be written at once and in full, without triggering streaming. */
  hasRoom(slot: number, bytes: number): boolean {
    const { limitBytes = Number.POSITIVE_INFINITY } = this.#dependencies.room ?? {};
    const isWithin = this.#writtenBytes + bytes <= limitBytes && this.#unsentBytes + bytes < streamThresholdBytes;
    return slot === this.#turn && isWithin && !this.#isFull;
  }

  /** Sets the next `count` entries as one text, separated by commas. Call only after {@link hasRoom} returned true. */
  putRun(text: string, count: number, source: ResponseSource): void {
    this.#write(text, source, count);
    this.#writeReady();
  }

  /** Sends everything that can be sent, unless the reader has paused; ends the response after the last slot. Returns false while the reader is paused. */
  flush(): boolean {
    if (this.#isFinished) return true;
    if (this.#isHeld) return false;
    if (this.#turn < this.#options.slots) {
      const isLong = this.#unsentBytes >= streamThresholdBytes;
      if (isLong && this.#dependencies.retryAfterSeconds?.() === undefined) this.#stream(undefined);
      return !this.#isHeld;
    }
    if (this.#hasBegun || this.#unsentParts.length > 0) this.#finish();
    else this.#sendWhole();
    return !this.#isHeld;
  }

  resume(): void {
    this.#isHeld = false;
  }

  #writeReady(): void {
    const ready = this.#ready;
    if (ready === undefined || ready.size === 0) return;
    for (let next = ready.get(this.#turn); next !== undefined; next = ready.get(this.#turn)) {
      ready.delete(this.#turn);
      const length = measureEntry(next.entry);
      this.#readyBytes -= length;
      this.#dependencies.memory.release(length);
      this.#write(next.entry, next.source);
    }
  }

  /** Writes the entry of one slot, or the joined entries of several slots. */
  #write(given: Entry, source: ResponseSource | undefined, slots = 1): void {
    const { memory, room } = this.#dependencies;
    const givenBytes = measureEntry(given);
    if (room !== undefined) this.#isFull ||= this.#writtenBytes + givenBytes > room.limitBytes;
    const hasRoom = room === undefined || givenBytes === 0 || !this.#isFull;
    const entry = hasRoom ? given : room.entryWithout(this.#turn);
    const length = hasRoom ? givenBytes : entry.length;
    this.#turn += slots;
    if (source !== undefined) this.#source = appendSource(this.#source, hasRoom ? source : "gateway");
    if (length === 0) return;
    const separator = this.#writtenBytes === 0 ? this.#options.head : ",";
    if (typeof entry === "string") this.#unsent += separator + entry;
    else {
      this.#unsentParts.push(Buffer.from(this.#unsent + separator, "latin1"));
      // Don't spread: a response may have more chunks than a call allows arguments.
      for (const part of entry) this.#unsentParts.push(part);
      this.#unsent = "";
    }
    // Commas between entries don't count.
    this.#writtenBytes += length - (slots - 1);
    this.#unsentBytes += separator.length + length;
    if (this.#unsentBytes - this.#heldBytes < uncountedBytes) return;
    memory.hold(this.#unsentBytes - this.#heldBytes);
    this.#heldBytes = this.#unsentBytes;
  }

  #sendWhole(): void {
    const { sink, ending } = this.#dependencies;
    this.#isFinished = true;
    ending?.();
    this.#unsentBytes = 0;
    this.#releaseAll();
    sink.text(
      this.#writtenBytes === 0 ? this.#options.empty : this.#unsent + this.#options.tail,
      this.#source ?? "gateway",
      this.#dependencies.retryAfterSeconds?.(),
    );
  }

  /** Sends the end of the response, in as many steps as the reader's backpressure requires. */
  #finish(): void {
    const { sink, ending } = this.#dependencies;
    if (!this.#isEnding) {
      this.#isEnding = true;
      ending?.();
      this.#unsent += this.#options.tail;
      this.#unsentBytes += this.#options.tail.length;
    }
    this.#stream(this.#unsentBytes);
    if (this.#unsentBytes > 0) return;
    this.#isFinished = true;
    sink.end();
  }

  /** Sends parts until the reader pauses; `wholeBytes` is the total length of the response, if known. */
  #stream(wholeBytes: number | undefined): void {
    const { sink } = this.#dependencies;
    if (!this.#hasBegun) sink.begin(wholeBytes, wholeBytes === undefined ? "mixed" : (this.#source ?? "gateway"));
    this.#hasBegun = true;
    if (this.#unsent !== "") this.#unsentParts.push(Buffer.from(this.#unsent, "latin1"));
    this.#unsent = "";
    while (!this.#isHeld) {
      const part = this.#unsentParts.shift();
      if (part === undefined) return;
      this.#unsentBytes -= part.length;
      this.#releaseAll();
      this.#isHeld = !sink.chunk(part);
    }
  }

  /** Releases memory that is counted for more than the unsent bytes. */
  #releaseAll(): void {
    const heldBytes = Math.min(this.#heldBytes, this.#unsentBytes);
    this.#dependencies.memory.release(this.#heldBytes - heldBytes);
    this.#heldBytes = heldBytes;
  }
}
