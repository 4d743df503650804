import type { NodeFailure } from "../errors.ts";
import { ResponseParts, type ResponseSink, type ResponseSource } from "../responses/response-sink.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";

/** Receiver for a buffered response. */
export type CollectedReceiver = Readonly<{
  /** Receives the whole response. The bytes are valid only until this method returns: copy anything you retain. */
  whole: (body: Buffer) => void;
  fail: (failure: NodeFailure) => void;
  /** Called if a response is too long to be buffered. The response is then streamed from its start to the returned sink, if there is one. */
  tooLong: () => ResponseSink | undefined;
}>;

/** Buffers a response of at most `limitBytes`. A longer one is streamed to the sink that `tooLong` returns, or discarded. */
export class CollectedResponse implements ResponseSink {
  readonly #limitBytes: number;
  readonly #receiver: CollectedReceiver;
  readonly #memory: HeldBytes | undefined;
  /** Created with the first part: most responses arrive whole. */
  #parts: ResponseParts | undefined;
  #lengthBytes: number | undefined;
  #source: ResponseSource = "node";
  #isTooLong = false;
  #onward: ResponseSink | undefined;

  /**
   * @param memory Memory budget for the buffered parts; if absent, the code that limits the number of such responses thereby limits their
   * bytes.
   */
  constructor(limitBytes: number, receiver: CollectedReceiver, memory?: HeldBytes) {
    this.#memory = memory;
    this.#limitBytes = limitBytes;
    this.#receiver = receiver;
  }

  text(json: string): void {
    this.#receiver.whole(Buffer.from(json, "latin1"));
  }

  bytes(body: Buffer): void {
    this.#receiver.whole(body);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#lengthBytes = lengthBytes;
    this.#source = source;
    if (lengthBytes !== undefined && lengthBytes > this.#limitBytes) this.#proceed();
  }

  chunk(bytes: Buffer): boolean {
    if (this.#isTooLong) return this.#onward?.chunk(bytes) ?? true;
    this.#parts ??= new ResponseParts(this.#limitBytes, this.#memory);
    if (this.#parts.hold(bytes) !== undefined) this.#proceed();
    return true;
  }

  end(): void {
    if (this.#isTooLong) this.#onward?.end();
    else this.#receiver.whole(Buffer.concat(this.#parts?.release() ?? []));
  }

  fail(failure: NodeFailure): void {
    if (this.#isTooLong) this.#onward?.fail(failure);
    else {
      this.#parts?.release();
      this.#receiver.fail(failure);
    }
  }

  #proceed(): void {
    const sofar = this.#parts?.release() ?? [];
    this.#isTooLong = true;
    this.#onward = this.#receiver.tooLong();
    this.#onward?.begin(this.#lengthBytes, this.#source);
    for (const bytes of sofar) this.#onward?.chunk(bytes);
  }
}
