import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { addSource, type AnswerSink, type AnswerSource } from "./answer-sink.ts";

/** Unsent bytes from which an answer begins to be sent before all of it is there. */
const streamFromBytes = 65_536;
/** Most unsent bytes that are not counted as held yet: to count each entry by itself costs more than to write it. */
const uncountedBytes = 4_096;

/** Frame of an answer of several parts in one text. */
export type OrderedWriterOptions = Readonly<{
  /** Number of places; each has an entry, or nothing. */
  places: number;
  /** Text before the first entry, and after the last one. Between entries stands a comma. */
  head: string;
  tail: string;
  /** The answer if no place has an entry. */
  empty: string;
}>;

/** Destination of the entries, and the callbacks on the way. */
export type OrderedWriterDependencies = Readonly<{
  sink: AnswerSink;
  /** Memory in which entries are held until they are sent. */
  memory: HeldBytes;
  /** Bounds the entries by replacing the first that does not fit, and all after it; without it, whoever puts them checks `bytes`. */
  room?: Readonly<{ limitBytes: number; entryWithout: (place: number) => string }>;
  /** Returns the seconds after which to come again if a limit made all entries so far: they are sent whole then, as such an answer. */
  retryAfterSeconds?: () => number | undefined;
  /** Called once, before the last of the answer is sent. */
  ending?: () => void;
}>;

/** An entry: a binary string, or a long one in parts, which are sent as they are. */
export type Entry = string | readonly Buffer[];

function measureEntry(entry: Entry): number {
  return typeof entry === "string" ? entry.length : entry.reduce((sum, { length }) => sum + length, 0);
}

/** Writes entries that come in any order in the order of their places: short answers go out whole, long ones as they come. */
export class OrderedWriter {
  readonly #options: OrderedWriterOptions;
  readonly #dependencies: OrderedWriterDependencies;
  /** Entries that came before their turn; created with the first. */
  #ready: Map<number, Readonly<{ entry: Entry; source: AnswerSource | undefined }>> | undefined;
  #readyBytes = 0;
  #source: AnswerSource | undefined;
  #turn = 0;
  #writtenBytes = 0;
  /** Unsent parts, and the text after them. */
  #unsentParts: Buffer[] = [];
  #unsent = "";
  #unsentBytes = 0;
  /** Held bytes of the unsent ones. */
  #heldBytes = 0;
  #isFull = false;
  #hasBegun = false;
  #isHeld = false;
  #isEnding = false;
  #isOver = false;

  constructor(options: OrderedWriterOptions, dependencies: OrderedWriterDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Number of places that have been written, from the start without a gap. */
  get turn(): number {
    return this.#turn;
  }

  /** Bytes of the written entries. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Whether an entry did not fit: none after it is written. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Bytes of all entries so far, including those that wait for their turn. */
  get bytes(): number {
    return this.#writtenBytes + this.#readyBytes;
  }

  /** Whether a part of the answer has been sent: from then on it can only be completed or broken off. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the reader has paused the answer. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Sets the entry of a place, empty for nothing, and its origin; undefined if that is not reported. */
  put(place: number, entry: Entry, source: AnswerSource | undefined): void {
    if (place !== this.#turn) {
      const length = measureEntry(entry);
      this.#dependencies.memory.hold(length);
      this.#readyBytes += length;
      this.#ready ??= new Map();
      this.#ready.set(place, { entry, source });
      return;
    }
    this.#write(entry, source);
    this.#writeReady();
  }

  /** Whether entries of so many bytes, from a place on, would be written at once and whole, and none of them would begin the answer. */
  hasRoom(place: number, bytes: number): boolean {
    const { limitBytes = Number.POSITIVE_INFINITY } = this.#dependencies.room ?? {};
    const isWithin = this.#writtenBytes + bytes <= limitBytes && this.#unsentBytes + bytes < streamFromBytes;
    return place === this.#turn && isWithin && !this.#isFull;
  }

  /** Sets `count` entries whose turn it is, in one text with a comma between them, for which there {@link hasRoom}. */
  putRun(text: string, count: number, source: AnswerSource): void {
    this.#write(text, source, count);
    this.#writeReady();
  }

  /** Sends what can be sent, unless the reader has paused; after the last place, the end. Returns false while the reader pauses. */
  flush(): boolean {
    if (this.#isOver) return true;
    if (this.#isHeld) return false;
    if (this.#turn < this.#options.places) {
      const isLong = this.#unsentBytes >= streamFromBytes;
      if (isLong && this.#dependencies.retryAfterSeconds?.() === undefined) this.#stream(undefined);
      return !this.#isHeld;
    }
    if (this.#hasBegun || this.#unsentParts.length > 0) this.#finish();
    else this.#sendWhole();
    return !this.#isHeld;
  }

  /** Continues after the reader's pause. */
  resume(): void {
    this.#isHeld = false;
  }

  /** Writes the entries that came before their turn, and whose turn it is now. */
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

  /** Writes the entry of a place, or those of several, which have room. */
  #write(given: Entry, source: AnswerSource | undefined, places = 1): void {
    const { memory, room } = this.#dependencies;
    const givenBytes = measureEntry(given);
    if (room !== undefined) this.#isFull ||= this.#writtenBytes + givenBytes > room.limitBytes;
    const hasRoom = room === undefined || givenBytes === 0 || !this.#isFull;
    const entry = hasRoom ? given : room.entryWithout(this.#turn);
    const length = hasRoom ? givenBytes : entry.length;
    this.#turn += places;
    if (source !== undefined) this.#source = addSource(this.#source, hasRoom ? source : "gateway");
    if (length === 0) return;
    const before = this.#writtenBytes === 0 ? this.#options.head : ",";
    if (typeof entry === "string") this.#unsent += before + entry;
    else {
      this.#unsentParts.push(Buffer.from(this.#unsent + before, "latin1"));
      // Not by a spread: a node may send an answer in more chunks than a call may have arguments.
      for (const part of entry) this.#unsentParts.push(part);
      this.#unsent = "";
    }
    // The commas between several are no part of them.
    this.#writtenBytes += length - (places - 1);
    this.#unsentBytes += before.length + length;
    if (this.#unsentBytes - this.#heldBytes < uncountedBytes) return;
    memory.hold(this.#unsentBytes - this.#heldBytes);
    this.#heldBytes = this.#unsentBytes;
  }

  #sendWhole(): void {
    const { sink, ending } = this.#dependencies;
    this.#isOver = true;
    ending?.();
    this.#unsentBytes = 0;
    this.#letGo();
    sink.text(
      this.#writtenBytes === 0 ? this.#options.empty : this.#unsent + this.#options.tail,
      this.#source ?? "gateway",
      this.#dependencies.retryAfterSeconds?.(),
    );
  }

  /** Sends the end of the answer, in as many steps as the reader takes. */
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
    this.#isOver = true;
    sink.end();
  }

  /** Sends parts until the reader pauses; `wholeBytes` is the length of the whole answer, if it is known. */
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
      this.#letGo();
      this.#isHeld = !sink.chunk(part);
    }
  }

  /** Releases what is held beyond the unsent bytes. */
  #letGo(): void {
    const heldBytes = Math.min(this.#heldBytes, this.#unsentBytes);
    this.#dependencies.memory.release(this.#heldBytes - heldBytes);
    this.#heldBytes = heldBytes;
  }
}
