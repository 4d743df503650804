import { copyToOwnMemory, ReceivedBytes } from "#daemon/memory/received-bytes.ts";
import type { ResponseFailure } from "../errors.ts";
import type { ResponseSink } from "../responses/response-sink.ts";
import { ChunkedDecoder } from "./chunked-decoder.ts";

/** Max size of a response that is assembled here if it arrives in several reads. */
const gatheredBytesMax = 65_536;

export type BodyFraming = Readonly<{
  /** Length of the body; undefined if it is chunked or ends when the connection closes. */
  lengthBytes: number | undefined;
  chunked: boolean;
}>;

export type ResponseBodyDependencies = Readonly<{
  sink: ResponseSink;
  /** Passes a whole body to the sink. */
  deliver: (body: Buffer) => void;
  hold: () => void;
  /** Validates the first bytes of a body; absent: a body may start with anything, or be empty. */
  mayBegin?: ((bytes: Buffer) => boolean) | undefined;
}>;

/** Progress of a body: incomplete, complete, or rejected. */
export type BodyState = "more" | "done" | Extract<ResponseFailure, "badAnswer" | "tooLarge">;

/**
 * The body of one response, decoded from its chunks. A body that arrives in one read goes to its sink whole, without copying. A short body
 * that arrives in several reads goes there whole, too, if the sink accepts only whole bodies. Any other body is streamed.
 */
export class ResponseBody {
  readonly #framing: BodyFraming;
  readonly #limitBytes: number;
  readonly #dependencies: ResponseBodyDependencies;
  readonly #chunks: ChunkedDecoder | undefined;
  #leftBytes: number;
  #passedBytes = 0;
  /** The part of the body in the current read, and copies of earlier parts, that have not gone to the sink yet. */
  #inRead: Buffer | undefined;
  readonly #gathered = new ReceivedBytes();
  #isStreaming = false;
  #isDropped = false;
  #isBad = false;

  constructor(framing: BodyFraming, limitBytes: number, dependencies: ResponseBodyDependencies) {
    this.#framing = framing;
    this.#limitBytes = limitBytes;
    this.#dependencies = dependencies;
    this.#chunks = framing.chunked ? new ChunkedDecoder() : undefined;
    this.#leftBytes = framing.lengthBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the sink is being streamed to, so that part of a long read may be forwarded. */
  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /** Processes one read. After `done`, call `end` before the read's bytes are overwritten; if `isKept`, they never are. */
  read(bytes: Buffer, isKept: boolean): BodyState {
    const state = this.#chunks === undefined ? this.#readPlain(bytes) : this.#readChunks(this.#chunks, bytes);
    if (this.#isDropped) return "more";
    if (this.#passedBytes > this.#limitBytes) return "tooLarge";
    if (state === "bad" || this.#isBad) return "badAnswer";
    if (state === "more" || this.#isStreaming) this.#forward(isKept);
    return state;
  }

  end(): void {
    const { sink, deliver, mayBegin } = this.#dependencies;
    if (this.#isStreaming) sink.end();
    else if (mayBegin !== undefined && this.#passedBytes === 0) sink.fail("badAnswer");
    else {
      if (this.#inRead !== undefined) this.#gathered.append(this.#inRead);
      deliver(this.#gathered.bytes);
    }
    this.drop();
  }

  /** Drops the bytes read so far; the sink gets no more of them. */
  drop(): void {
    this.#isDropped = true;
    this.#inRead = undefined;
    this.#gathered.drop(this.#gathered.length);
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
    if (this.#isDropped) return;
    this.#isBad ||= this.#passedBytes === 0 && this.#dependencies.mayBegin?.(data) === false;
    this.#passedBytes += data.length;
    this.#inRead = data;
  }

  /** Forwards the read's bytes, or copies them: the next read overwrites them, and the body is not complete yet. */
  #forward(isKept: boolean): void {
    const { sink } = this.#dependencies;
    const inRead = this.#inRead;
    this.#inRead = undefined;
    if (!this.#isStreaming) {
      const isShort = Math.max(this.#framing.lengthBytes ?? 0, this.#passedBytes) <= gatheredBytesMax;
      if (sink.wantsWhole === true && isShort) {
        if (inRead !== undefined) this.#gathered.append(inRead);
        this.#gathered.own();
        return;
      }
      this.#isStreaming = true;
      sink.begin(this.#framing.lengthBytes, "node");
      const gatheredBytes = this.#gathered.bytes;
      this.#gathered.drop(gatheredBytes.length);
      if (gatheredBytes.length > 0) this.#deliver(copyToOwnMemory(gatheredBytes));
    }
    if (inRead !== undefined) this.#deliver(isKept ? inRead : Buffer.from(inRead));
  }

  #deliver(bytes: Buffer): void {
    if (!this.#isDropped && !this.#dependencies.sink.chunk(bytes)) this.#dependencies.hold();
  }
}
