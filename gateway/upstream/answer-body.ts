import type { NodeFailure } from "../errors.ts";
import { ownBytes } from "../wire/received-bytes.ts";
import type { ScratchBuffers } from "../wire/scratch-buffers.ts";
import type { AnswerSink } from "../answers/answer-sink.ts";
import type { ResponseHead } from "./response-head.ts";

/** Longest answer that is put together here when it comes in several reads. */
const gatheredMost = 65_536;

/** What an answer's body is read with. */
export type AnswerBodyDependencies = Readonly<{
  sink: AnswerSink;
  /** Memory in which a short answer is put together. */
  scratch: ScratchBuffers;
  /** The sink asks to wait for `resume`. */
  hold: () => void;
}>;

/** How far a body was read. */
export type BodyState = "more" | "done" | Extract<NodeFailure, "badAnswer" | "tooLarge">;

/**
 * The body of one response, taken out of its chunks. A body that is there with one read goes to its sink whole, from where it was read. So does
 * a short one that comes in several reads, if its sink wants no less than the whole: every other goes on as it comes.
 */
export class AnswerBody {
  readonly #head: ResponseHead;
  readonly #limitBytes: number;
  readonly #dependencies: AnswerBodyDependencies;
  readonly #chunks: ChunkedDecoder | undefined;
  /** Of a body whose length is known. */
  #leftBytes: number;
  #passedBytes = 0;
  /** All of the body so far that has not gone to the sink, in the read that is being taken. */
  #inRead: Buffer | undefined;
  /** The same in memory of its own, of which `#gatheredBytes` are used. */
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;
  #isStreaming = false;
  #isDropped = false;
  /** Whether the sink may keep the bytes of the read that is being taken. */
  #isReadKept = false;

  /** `limitBytes` is the most that the body may have. */
  constructor(head: ResponseHead, limitBytes: number, dependencies: AnswerBodyDependencies) {
    this.#head = head;
    this.#limitBytes = limitBytes;
    this.#dependencies = dependencies;
    this.#chunks = head.chunked ? new ChunkedDecoder() : undefined;
    this.#leftBytes = head.lengthBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the sink takes what comes as it comes, so that a long read may be given away. */
  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /**
   * Takes what came with one read. After `done`, `end` hands on what is left, before the read's bytes are overwritten. `isKept`: they never
   * are.
   */
  take(bytes: Buffer, isKept: boolean): BodyState {
    this.#isReadKept = isKept;
    const state = this.#chunks === undefined ? this.#takePlain(bytes) : this.#takeChunks(this.#chunks, bytes);
    if (this.#isDropped) return "more";
    if (this.#passedBytes > this.#limitBytes) return "tooLarge";
    if (state === "bad") return "badAnswer";
    if (state === "more" && !this.#isStreaming) this.#settle();
    return state;
  }

  /** Nothing more comes, and nothing is wanting. */
  end(): void {
    const { sink } = this.#dependencies;
    if (this.#isStreaming) sink.end();
    else sink.bytes(this.#inRead ?? this.#gathered?.subarray(0, this.#gatheredBytes) ?? Buffer.alloc(0), "node");
    this.drop();
  }

  /** Lets go of what was read; the sink gets no more of it. */
  drop(): void {
    this.#isDropped = true;
    this.#inRead = undefined;
    if (this.#gathered !== undefined) this.#dependencies.scratch.giveBack(this.#gathered);
    this.#gathered = undefined;
  }

  #takePlain(bytes: Buffer): "more" | "done" | "bad" {
    if (bytes.length > this.#leftBytes) return "bad";
    this.#leftBytes -= bytes.length;
    if (bytes.length > 0) this.#pass(bytes);
    return this.#leftBytes === 0 ? "done" : "more";
  }

  #takeChunks(chunks: ChunkedDecoder, bytes: Buffer): "more" | "done" | "bad" {
    return chunks.push(bytes, (data) => this.#pass(data));
  }

  #pass(data: Buffer): void {
    if (this.#isDropped) return;
    this.#passedBytes += data.length;
    if (this.#passedBytes > this.#limitBytes) return;
    if (!this.#isStreaming && this.#passedBytes > data.length) {
      if (this.#passedBytes <= gatheredMost) return this.#gather(data);
      this.#stream();
    }
    if (this.#isStreaming) this.#give(this.#isReadKept ? data : Buffer.from(data));
    else this.#inRead = data;
  }

  #gather(data: Buffer): void {
    const before = this.#inRead;
    this.#inRead = undefined;
    this.#gathered ??= this.#dependencies.scratch.take(this.#head.lengthBytes ?? gatheredMost);
    for (const part of before === undefined ? [data] : [before, data]) {
      this.#gathered.set(part, this.#gatheredBytes);
      this.#gatheredBytes += part.length;
    }
  }

  /** The read is over, and the body is not: what is in it would be overwritten. */
  #settle(): void {
    const isShort = Math.max(this.#head.lengthBytes ?? 0, this.#passedBytes) <= gatheredMost;
    if (this.#dependencies.sink.wantsWhole !== true || !isShort) this.#stream();
    else if (this.#inRead !== undefined) this.#gather(Buffer.alloc(0));
  }

  #stream(): void {
    this.#isStreaming = true;
    const { sink, scratch } = this.#dependencies;
    const inRead = this.#inRead;
    const gathered = this.#gathered;
    this.#inRead = undefined;
    this.#gathered = undefined;
    sink.begin(this.#head.lengthBytes, "node");
    if (inRead !== undefined) this.#give(this.#isReadKept ? inRead : Buffer.from(inRead));
    if (gathered === undefined) return;
    const used = gathered.subarray(0, this.#gatheredBytes);
    const own = ownBytes(used);
    if (own !== used) scratch.giveBack(gathered);
    this.#give(own);
  }

  #give(bytes: Buffer): void {
    if (!this.#isDropped && !this.#dependencies.sink.chunk(bytes)) this.#dependencies.hold();
  }
}

/** Longest line of a chunk's size that is read, with its extensions. */
const sizeLineBytes = 256;

/**
 * Decodes a chunked body (RFC 9112, section 7.1) as it arrives. Trailers are passed over.
 *
 * `push` hands the data in `bytes` to `onData` and answers `more`, `done` when the body's end was read, or `bad`.
 */
class ChunkedDecoder {
  #line = "";
  #left = 0;
  #state: "size" | "data" | "dataEnd" | "trailer" = "size";

  push(bytes: Buffer, onData: (data: Buffer) => void): "more" | "done" | "bad" {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === "data") {
        const end = Math.min(bytes.length, at + this.#left);
        onData(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = "dataEnd";
        continue;
      }
      const newline = bytes.indexOf(0x0a, at);
      const end = newline === -1 ? bytes.length : newline + 1;
      this.#line += bytes.toString("latin1", at, end);
      at = end;
      if (this.#line.length > sizeLineBytes) return "bad";
      if (newline === -1) return "more";
      const line = this.#line.replace(/\r?\n$/, "");
      this.#line = "";
      const outcome = this.#takeLine(line);
      if (outcome !== "more") return outcome === "done" && at < bytes.length ? "bad" : outcome;
    }
    return "more";
  }

  #takeLine(line: string): "more" | "done" | "bad" {
    if (this.#state === "dataEnd") {
      this.#state = "size";
      return line === "" ? "more" : "bad";
    }
    if (this.#state === "trailer") return line === "" ? "done" : "more";
    const size = /^([0-9a-fA-F]{1,8})\s*(;.*)?$/.exec(line)?.[1];
    if (size === undefined) return "bad";
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? "trailer" : "data";
    return "more";
  }
}
