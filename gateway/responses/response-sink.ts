import type { ResponseFailure } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { copyToOwnMemory } from "#daemon/memory/received-bytes.ts";

/** Origin of a response, as in `X-Gatehouse-Source`. `mixed`: several sources, or not all known when streaming started. */
export type ResponseSource = "gateway" | "cache" | "coalesced" | "node" | "mixed";

export function appendSource(soFar: ResponseSource | undefined, part: ResponseSource): ResponseSource {
  return soFar === undefined || soFar === part ? part : "mixed";
}

/**
 * Receives the response to one call or batch, at every stage between the node and the client: either `text` or `bytes` once, or `begin`,
 * `chunk`…, and `end`. `fail` may come at any time before the response is complete. Text is a binary string: one character per byte.
 */
export type ResponseSink = Readonly<{
  /** Whether the sink ignores a response until it is complete. If so, a short response may arrive in one `bytes` call, regardless of how many reads it took. */
  wantsWhole?: boolean;
  /**
   * Receives a complete response. The string may be a slice of a longer text: copy anything you retain for long, or the whole text stays in
   * memory. `retryAfterSeconds` means that a limit caused the response: HTTP reports it with 429 and Retry-After.
   */
  text: (json: string, source: ResponseSource, retryAfterSeconds?: number) => void;
  /** Receives a complete response as the node sent it. The bytes are valid only until this method returns: copy anything you retain. */
  bytes: (body: Buffer, source: ResponseSource) => void;
  /** Starts a streamed response; `lengthBytes` is its length, if the node announced one. */
  begin: (lengthBytes: number | undefined, source: ResponseSource) => void;
  /** Receives bytes and takes ownership of them. Returns false if the sender must wait for `flow.resume`. */
  chunk: (bytes: Buffer) => boolean;
  end: () => void;
  /** Reports a failure. Before `begin`, the owner of the call responds instead; after it, the response is truncated. */
  fail: (failure: ResponseFailure) => void;
}>;

export type ResponseFlow = Readonly<{
  resume: () => void;
  /** Cancels the response because the reader disconnected: the sink receives nothing more. */
  cancel: () => void;
}>;

/** Flow control for a response that is complete before anything is read from it. */
export const finishedFlow: ResponseFlow = { resume: () => undefined, cancel: () => undefined };

/** Sink for a response that is discarded, such as the response to a notification. */
export const discardedResponse: ResponseSink = {
  text: () => undefined,
  bytes: () => undefined,
  begin: () => undefined,
  chunk: () => true,
  end: () => undefined,
  fail: () => undefined,
};

export type BodyPartError = Extract<ResponseFailure, "tooLarge" | "tooMuchHeld">;

/**
 * Chunks of one response, at most `limitBytes` in total, counted in `memory` until released. They stay buffers, because buffers are
 * allocated outside the heap, which is the smaller part of a process's memory. Without `memory`, the caller bounds the total by limiting
 * the number of such responses.
 */
export class ResponseParts {
  readonly #limitBytes: number;
  readonly #memory: HeldBytes | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(limitBytes: number, memory: HeldBytes | undefined) {
    this.#limitBytes = limitBytes;
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a part that is already in memory, even if it exceeds the limits. */
  hold(bytes: Buffer): BodyPartError | undefined {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    const mayBeHeld = this.#memory?.hold(bytes.length) ?? true;
    if (this.#bytes > this.#limitBytes) return "tooLarge";
    return mayBeHeld ? undefined : "tooMuchHeld";
  }

  /** Adds a part if memory allows, which may evict stalled readers. A part of a much larger buffer is copied. */
  tryAdd(bytes: Buffer): BodyPartError | undefined {
    if (this.#bytes + bytes.length > this.#limitBytes) return "tooLarge";
    if (this.#memory?.tryAcquire(bytes.length) === false) return "tooMuchHeld";
    this.#parts.push(copyToOwnMemory(bytes));
    this.#bytes += bytes.length;
    return undefined;
  }

  joined(): Buffer {
    return Buffer.concat(this.#parts);
  }

  release(): readonly Buffer[] {
    const parts = this.#parts;
    this.#memory?.release(this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return parts;
  }
}

/** A sink that calls `onEnd` when its response ends, before forwarding the end: the client's next request may follow immediately. */
export class EndingSink implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #ended: () => void;

  constructor(sink: ResponseSink, onEnd: () => void) {
    this.#sink = sink;
    this.#ended = onEnd;
  }

  text(json: string, source: ResponseSource, retryAfterSeconds?: number): void {
    this.#ended();
    this.#sink.text(json, source, retryAfterSeconds);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    this.#ended();
    this.#sink.bytes(body, source);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#sink.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    return this.#sink.chunk(bytes);
  }

  end(): void {
    this.#ended();
    this.#sink.end();
  }

  fail(failure: ResponseFailure): void {
    this.#ended();
    this.#sink.fail(failure);
  }
}

/** Flow control that calls `onEnd` when the reader cancels the response. */
export class EndingFlow implements ResponseFlow {
  readonly #flow: ResponseFlow;
  readonly #ended: () => void;

  constructor(flow: ResponseFlow, onEnd: () => void) {
    this.#flow = flow;
    this.#ended = onEnd;
  }

  resume(): void {
    this.#flow.resume();
  }

  cancel(): void {
    this.#flow.cancel();
    this.#ended();
  }
}

/** Flow control of a response that starts later, unless its reader disconnects first. */
export class LateFlow implements ResponseFlow {
  #flow: ResponseFlow | undefined;
  #isCancelled = false;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Starts the response. A reader may also disconnect during the start. */
  begin(start: () => ResponseFlow): void {
    if (this.#isCancelled) return;
    this.#flow = start();
    if (this.isCancelled) this.#flow.cancel();
  }

  resume(): void {
    this.#flow?.resume();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#flow?.cancel();
  }
}
