import type { HeldBytes } from "../memory/connection-memory.ts";
import { sourceWith, type AnswerSink, type AnswerSource } from "./answer-sink.ts";

/** Bytes that wait to be sent from which an answer begins to be sent before all of it is there. */
const streamFromBytes = 65_536;
/** Most bytes that wait to be sent and are not counted as held yet: to count each entry by itself costs more than to write it. */
const uncountedBytes = 4_096;

/** An answer of several parts, in one text. */
export type OrderedWriterOptions = Readonly<{
  /** Number of places; each has an entry, or nothing. */
  places: number;
  /** What stands before the first entry, and after the last one. Between entries stands a comma. */
  head: string;
  tail: string;
  /** The answer when no place has an entry. */
  empty: string;
}>;

/** Where the entries go, and what is asked of others on the way. */
export type OrderedWriterDependencies = Readonly<{
  sink: AnswerSink;
  /** Entries are held in it until they are sent. */
  memory: HeldBytes;
  /** Bounds the entries by replacing those that have no room; without it, whoever puts them looks at `bytes`. */
  room?: Readonly<{ limitBytes: number; entryWithout: (place: number) => string }>;
  /** Called once, before the last of the answer is sent. */
  ending?: () => void;
}>;

/** Writes entries that come in any order in the order of their places: short answers go out whole, long ones as they come. */
export class OrderedWriter {
  readonly #options: OrderedWriterOptions;
  readonly #dependencies: OrderedWriterDependencies;
  /** Entries that came before their turn; made with the first. */
  #ready: Map<number, Readonly<{ text: string; source: AnswerSource | undefined }>> | undefined;
  #readyBytes = 0;
  #source: AnswerSource | undefined;
  #turn = 0;
  #writtenBytes = 0;
  #unsent = "";
  /** Of what is unsent. */
  #heldBytes = 0;
  #hasBegun = false;
  #isHeld = false;
  #isOver = false;

  constructor(options: OrderedWriterOptions, dependencies: OrderedWriterDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Places that have been written, counted from the start without a gap. */
  get turn(): number {
    return this.#turn;
  }

  /** Bytes of the entries written. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  /** Bytes of all entries so far, also of those that wait for their turn. */
  get bytes(): number {
    return this.#writtenBytes + this.#readyBytes;
  }

  /** Whether a part of the answer is out: from then on it can only be completed or broken off. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the reader has asked to wait. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Sets the entry of a place, empty for nothing, and where it came from; undefined when that is not to be told. */
  put(place: number, text: string, source: AnswerSource | undefined): void {
    if (place !== this.#turn) {
      this.#dependencies.memory.hold(text.length);
      this.#readyBytes += text.length;
      this.#ready ??= new Map();
      this.#ready.set(place, { text, source });
      return;
    }
    this.#write(text, source);
    const ready = this.#ready;
    if (ready === undefined || ready.size === 0) return;
    for (let next = ready.get(this.#turn); next !== undefined; next = ready.get(this.#turn)) {
      ready.delete(this.#turn);
      this.#readyBytes -= next.text.length;
      this.#dependencies.memory.give(next.text.length);
      this.#write(next.text, next.source);
    }
  }

  /** Sends what is to be sent, unless the reader has asked to wait; after the last place, the end. False while the reader waits. */
  flush(): boolean {
    if (this.#isOver) return true;
    if (this.#isHeld) return false;
    if (this.#turn < this.#options.places) {
      if (this.#unsent.length >= streamFromBytes) this.#sendPart("");
      return !this.#isHeld;
    }
    this.#isOver = true;
    const { sink, ending } = this.#dependencies;
    ending?.();
    if (this.#hasBegun) {
      this.#sendPart(this.#options.tail);
      sink.end();
    } else {
      this.#letGo();
      sink.text(
        this.#writtenBytes === 0 ? this.#options.empty : this.#unsent + this.#options.tail,
        this.#source ?? "gateway",
      );
    }
    return !this.#isHeld;
  }

  /** The reader takes more. */
  resume(): void {
    this.#isHeld = false;
  }

  #write(text: string, source: AnswerSource | undefined): void {
    const { memory, room } = this.#dependencies;
    const hasRoom = room === undefined || text === "" || this.#writtenBytes + text.length <= room.limitBytes;
    const entry = hasRoom ? text : room.entryWithout(this.#turn);
    this.#turn += 1;
    if (source !== undefined) this.#source = sourceWith(this.#source, hasRoom ? source : "gateway");
    if (entry === "") return;
    this.#unsent += this.#writtenBytes === 0 ? this.#options.head + entry : `,${entry}`;
    this.#writtenBytes += entry.length;
    if (this.#unsent.length - this.#heldBytes < uncountedBytes) return;
    memory.hold(this.#unsent.length - this.#heldBytes);
    this.#heldBytes = this.#unsent.length;
  }

  #sendPart(tail: string): void {
    const { sink } = this.#dependencies;
    this.#letGo();
    const text = this.#unsent + tail;
    this.#unsent = "";
    if (!this.#hasBegun) sink.begin(undefined, "mixed");
    this.#hasBegun = true;
    this.#isHeld = !sink.chunk(Buffer.from(text, "latin1"));
  }

  #letGo(): void {
    this.#dependencies.memory.give(this.#heldBytes);
    this.#heldBytes = 0;
  }
}
