import type { ResponseFailure } from "../errors.ts";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import { copyToOwnMemory } from "../wire/received-bytes.ts";
import type { ScratchBuffers } from "../wire/scratch-buffers.ts";
import type { ResponseSink } from "../responses/response-sink.ts";
import type { ResponseHead } from "./response-head.ts";

/** Max size of a response that is assembled here if it arrives in several reads. */
const gatheredBytesMax = 65_536;

export type ResponseBodyDependencies = Readonly<{
  sink: ResponseSink;
  /** Buffers for assembling short responses. */
  scratch: ScratchBuffers;
  /** Called when the sink applies backpressure, until `resume`. */
  hold: () => void;
  /** Validates the first bytes of a body; absent: a body may start with anything, or be empty. */
  mayBegin?: ((bytes: Buffer) => boolean) | undefined;
}>;

/** Progress of a body: incomplete, complete, or rejected. */
export type BodyState = "more" | "done" | Extract<ResponseFailure, "badAnswer" | "tooLarge">;

/**
 * The body of one response, decoded from its chunks. A body that arrives in one read goes to its sink whole, without copying. So does a
 * short body that arrives in several reads, if its sink accepts only whole bodies. Any other body is streamed.
 */
export class ResponseBody {
  readonly #head: ResponseHead;
  readonly #limitBytes: number;
  readonly #dependencies: ResponseBodyDependencies;
  readonly #chunks: ChunkedDecoder | undefined;
  /** Remaining bytes of a body whose length is known. */
  #leftBytes: number;
  #passedBytes = 0;
  /** The part of the body in the current read that has not gone to the sink yet. */
  #inRead: Buffer | undefined;
  /** The part of the body that has not gone to the sink yet, in a separate buffer, of which `#gatheredBytes` are used. */
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;
  #isStreaming = false;
  #isDropped = false;
  #isBad = false;
  /** Whether the sink may retain the bytes from the current read. */
  #isReadKept = false;

  /** `limitBytes` is the max size of the body. */
  constructor(head: ResponseHead, limitBytes: number, dependencies: ResponseBodyDependencies) {
    this.#head = head;
    this.#limitBytes = limitBytes;
    this.#dependencies = dependencies;
    this.#chunks = head.chunked ? new ChunkedDecoder() : undefined;
    this.#leftBytes = head.lengthBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the sink is being streamed to, so that part of a long read may be forwarded. */
  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /**
   * Processes the bytes from one read. After `done`, `end` must forward the rest before the read's bytes are overwritten. `isKept` means
   * that they are never overwritten.
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

  /** Ends a complete body. */
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
      if (this.#passedBytes <= gatheredBytesMax) return this.#gather(data);
      this.#stream();
    }
    if (this.#isStreaming) this.#deliver(this.#isReadKept ? data : Buffer.from(data));
    else this.#inRead = data;
  }

  #gather(data: Buffer): void {
    const before = this.#inRead;
    this.#inRead = undefined;
    this.#gathered ??= this.#dependencies.scratch.acquire(this.#head.lengthBytes ?? gatheredBytesMax);
    for (const part of before === undefined ? [data] : [before, data]) {
      this.#gathered.set(part, this.#gatheredBytes);
      this.#gatheredBytes += part.length;
    }
  }

  /** Copies the bytes from a finished read before they are overwritten: the body is not complete yet. */
  #settle(): void {
    const isShort = Math.max(this.#head.lengthBytes ?? 0, this.#passedBytes) <= gatheredBytesMax;
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
