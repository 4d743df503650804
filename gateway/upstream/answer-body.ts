import type { NodeFailure } from "../errors.ts";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import { copyToOwnMemory } from "../wire/received-bytes.ts";
import type { ScratchBuffers } from "../wire/scratch-buffers.ts";
import type { AnswerSink } from "../answers/answer-sink.ts";
import type { ResponseHead } from "./response-head.ts";

/** Longest answer that is put together here if it comes in several reads. */
const gatheredMost = 65_536;

export type AnswerBodyDependencies = Readonly<{
  sink: AnswerSink;
  /** Memory in which a short answer is put together. */
  scratch: ScratchBuffers;
  /** Called when the sink has to be waited for, until `resume`. */
  hold: () => void;
  /** Judges the first bytes of a body; without it, a body may have any, or none. */
  mayBegin?: ((bytes: Buffer) => boolean) | undefined;
}>;

/** Progress of a body: more is to come, it is whole, or it is refused. */
export type BodyState = "more" | "done" | Extract<NodeFailure, "badAnswer" | "tooLarge">;

/**
 * The body of one response, taken out of its chunks. A body that comes with one read goes to its sink whole, from where it was read. So does
 * a short one that comes in several reads, if its sink wants no less than the whole: every other goes on as it comes.
 */
export class AnswerBody {
  readonly #head: ResponseHead;
  readonly #limitBytes: number;
  readonly #dependencies: AnswerBodyDependencies;
  readonly #chunks: ChunkedDecoder | undefined;
  /** Bytes that are still to come of a body whose length is known. */
  #leftBytes: number;
  #passedBytes = 0;
  /** All of the body so far that has not gone to the sink, in the current read. */
  #inRead: Buffer | undefined;
  /** The same in its own memory, of which `#gatheredBytes` are used. */
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;
  #isStreaming = false;
  #isDropped = false;
  #isBad = false;
  /** Whether the sink may keep the bytes of the current read. */
  #isReadKept = false;

  /** `limitBytes` is the most that the body may have. */
  constructor(head: ResponseHead, limitBytes: number, dependencies: AnswerBodyDependencies) {
    this.#head = head;
    this.#limitBytes = limitBytes;
    this.#dependencies = dependencies;
    this.#chunks = head.chunked ? new ChunkedDecoder() : undefined;
    this.#leftBytes = head.lengthBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the sink takes bytes as they come, so that a long read may be passed on. */
  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /**
   * Takes the bytes of one read. After `done`, `end` passes on the rest, before the read's bytes are overwritten. `isKept`: they never
   * are.
   */
  read(bytes: Buffer, isKept: boolean): BodyState {
    this.#isReadKept = isKept;
    const state = this.#chunks === undefined ? this.#readPlain(bytes) : this.#readChunks(this.#chunks, bytes);
    if (this.#isDropped) return "more";
    if (this.#passedBytes > this.#limitBytes) return "tooLarge";
    if (state === "bad" || this.#isBad) return "badAnswer";
    if (state === "more" && !this.#isStreaming) this.#settle();
    return state;
  }

  /** Ends a body that is whole. */
  end(): void {
    const { sink, mayBegin } = this.#dependencies;
    if (this.#isStreaming) sink.end();
    else if (mayBegin !== undefined && this.#passedBytes === 0) sink.fail("badAnswer");
    else sink.bytes(this.#inRead ?? this.#gathered?.subarray(0, this.#gatheredBytes) ?? Buffer.alloc(0), "node");
    this.drop();
  }

  /** Releases the bytes read so far; the sink gets no more of them. */
  drop(): void {
    this.#isDropped = true;
    this.#inRead = undefined;
    if (this.#gathered !== undefined) this.#dependencies.scratch.release(this.#gathered);
    this.#gathered = undefined;
  }

  #readPlain(bytes: Buffer): "more" | "done" | "bad" {
    if (bytes.length > this.#leftBytes) return "bad";
    this.#leftBytes -= bytes.length;
    if (bytes.length > 0) this.#pass(bytes);
    return this.#leftBytes === 0 ? "done" : "more";
  }

  #readChunks(chunks: ChunkedDecoder, bytes: Buffer): "more" | "done" | "bad" {
    const state = chunks.push(bytes);
    const { dataStart, dataEnd } = chunks;
    if (dataEnd > dataStart) this.#pass(bytes.subarray(dataStart, dataEnd));
    return state;
  }

  #pass(data: Buffer): void {
    if (this.#isDropped || this.#isBad) return;
    this.#isBad = this.#passedBytes === 0 && this.#dependencies.mayBegin?.(data) === false;
    this.#passedBytes += data.length;
    if (this.#passedBytes > this.#limitBytes) return;
    if (!this.#isStreaming && this.#passedBytes > data.length) {
      if (this.#passedBytes <= gatheredMost) return this.#gather(data);
      this.#stream();
    }
    if (this.#isStreaming) this.#deliver(this.#isReadKept ? data : Buffer.from(data));
    else this.#inRead = data;
  }

  #gather(data: Buffer): void {
    const before = this.#inRead;
    this.#inRead = undefined;
    this.#gathered ??= this.#dependencies.scratch.acquire(this.#head.lengthBytes ?? gatheredMost);
    for (const part of before === undefined ? [data] : [before, data]) {
      this.#gathered.set(part, this.#gatheredBytes);
      this.#gatheredBytes += part.length;
    }
  }

  /** Saves the bytes of a read that is over before they are overwritten: the body is not whole yet. */
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
    if (inRead !== undefined) this.#deliver(this.#isReadKept ? inRead : Buffer.from(inRead));
    if (gathered === undefined) return;
    const used = gathered.subarray(0, this.#gatheredBytes);
    const own = copyToOwnMemory(used);
    if (own !== used) scratch.release(gathered);
    this.#deliver(own);
  }

  #deliver(bytes: Buffer): void {
    if (!this.#isDropped && !this.#dependencies.sink.chunk(bytes)) this.#dependencies.hold();
  }
}
