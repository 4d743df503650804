import type { ResponseFailure } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { ResponseParts, type BodyPartError, type ResponseSink, type ResponseSource } from "./response-sink.ts";

export type TextResponse = Readonly<{ text: string; source: ResponseSource; retryAfterSeconds: number | undefined }>;

/** Receives the responses of one or more sinks, each with the context of its call. */
export type TextReceiver<Context> = Readonly<{
  limitBytes: number;
  /** Counts a collected response until the receiver gets it; if undefined, `limitBytes` is the only limit. */
  memory: HeldBytes | undefined;
  receive: (answer: TextResponse | ResponseFailure, context: Context) => void;
  /** Receives the parts of a long response instead of `receive`. If absent, the parts are joined. */
  receiveLong?: (answer: LongResponse, context: Context) => void;
}>;

/** Receiver for a batch's responses, each with the slot of its call. */
export type RunReceiver = TextReceiver<number> &
  Readonly<{
    /** Whether responses of this total size, starting at this slot, can be written at once with the same result as one by one. */
    hasRoom: (slot: number, bytes: number) => boolean;
    /** Receives the node's responses to `count` calls, starting at this slot, separated by commas. Called only after `hasRoom` returned true. */
    receiveRun: (text: string, slot: number, count: number) => void;
  }>;

/** A long response, in the parts in which it arrived: joined into one string, it would take heap twice and soon become garbage. */
export type LongResponse = Readonly<{ parts: readonly Buffer[]; source: ResponseSource }>;

/** Length at which a response that arrived in parts counts as long. */
const longBytes = 65_536;

/** Max length of a response that is passed on regardless of memory use: an error in its place would not be much shorter. */
const smallBytes = 1_024;

/**
 * Collects a response and passes it to its receiver when complete, if memory limits allow it. Small, because a batch needs one per call.
 */
export class TextSink<Context> implements ResponseSink {
  readonly #receiver: TextReceiver<Context>;
  readonly #context: Context;
  /** Created when a response arrives in parts: most arrive whole. */
  #collected: CollectedText | undefined;

  constructor(receiver: TextReceiver<Context>, context: Context) {
    this.#receiver = receiver;
    this.#context = context;
  }

  text(json: string, source: ResponseSource, retryAfterSeconds?: number): void {
    this.#whole(json, source, retryAfterSeconds);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    this.#whole(body.toString("latin1"), source, undefined);
  }

  begin(_lengthBytes: number | undefined, source: ResponseSource): void {
    const { limitBytes, memory } = this.#receiver;
    this.#collected = { parts: new ResponseParts(limitBytes, memory), failure: undefined, source };
  }

  chunk(bytes: Buffer): boolean {
    const collected = this.#collected;
    if (collected === undefined || collected.failure !== undefined) return true;
    collected.failure = collected.parts.tryAdd(bytes);
    if (collected.failure !== undefined) collected.parts.release();
    return true;
  }

  end(): void {
    const collected = this.#collected;
    if (collected === undefined) return;
    const isLong = collected.parts.bytes >= longBytes;
    const parts = collected.parts.release();
    if (collected.failure !== undefined) this.#receiver.receive(collected.failure, this.#context);
    else if (isLong && this.#receiver.receiveLong !== undefined) {
      this.#receiver.receiveLong({ parts, source: collected.source }, this.#context);
    } else {
      const text = parts.map((part) => part.toString("latin1")).join("");
      this.#receiver.receive({ text, source: collected.source, retryAfterSeconds: undefined }, this.#context);
    }
  }

  fail(failure: ResponseFailure): void {
    this.#collected?.parts.release();
    this.#receiver.receive(failure, this.#context);
  }

  #whole(text: string, source: ResponseSource, retryAfterSeconds: number | undefined): void {
    this.#receiver.receive(
      explainRejection(this.#receiver, text.length) ?? { text, source, retryAfterSeconds },
      this.#context,
    );
  }
}

/** Returns the reason a receiver may not get a complete response, or undefined if it may. */
export function explainRejection(
  { limitBytes, memory }: Pick<TextReceiver<unknown>, "limitBytes" | "memory">,
  length: number,
): BodyPartError | undefined {
  if (length > limitBytes) return "tooLarge";
  if (length <= smallBytes || memory === undefined) return undefined;
  if (!memory.tryAcquire(length)) return "tooMuchHeld";
  memory.release(length);
  return undefined;
}

type CollectedText = { failure: BodyPartError | undefined } & Readonly<{
  parts: ResponseParts;
  source: ResponseSource;
}>;

export function createTextSink(
  limitBytes: number,
  memory: HeldBytes | undefined,
  receive: (answer: TextResponse | ResponseFailure) => void,
  receiveLong?: (answer: LongResponse) => void,
): ResponseSink {
  return new TextSink(
    { limitBytes, memory, receive, ...(receiveLong === undefined ? {} : { receiveLong }) },
    undefined,
  );
}
