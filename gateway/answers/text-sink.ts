import type { CollectionFailure } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { AnswerParts, type PartsFailure, type AnswerSink, type AnswerSource } from "./answer-sink.ts";

/** A whole answer as a binary string. */
export type TextAnswer = Readonly<{ text: string; source: AnswerSource; retryAfterSeconds: number | undefined }>;

/** Receiver of the answers of one or more sinks, each with the context of its call. */
export type TextReceiver<Context> = Readonly<{
  /** Longest answer. */
  limitBytes: number;
  /** Memory in which a collected answer is held until it is received. */
  memory: HeldBytes;
  receive: (answer: TextAnswer | CollectionFailure, context: Context) => void;
  /** Receives the parts of a long answer, instead of `receive`; without it, the answer is put together. */
  receiveLong?: (answer: LongAnswer, context: Context) => void;
}>;

/** Receiver of a batch's answers, each with the place of its call. */
export type RunReceiver = TextReceiver<number> &
  Readonly<{
    /** Whether answers of so many bytes, from a place on, can be written at once, as they would be one after another. */
    hasRoom: (place: number, bytes: number) => boolean;
    /** Receives the node's answers to `count` calls from a place on, with a comma between them, for which it has room. */
    receiveRun: (text: string, place: number, count: number) => void;
  }>;

/** A long answer, in the parts that it came in: as one string it would be in the heap twice, and garbage soon. */
export type LongAnswer = Readonly<{ parts: readonly Buffer[]; source: AnswerSource }>;

/** Length from which an answer that came in parts is long. */
const longBytes = 65_536;

/** Longest answer that is passed on whatever else is held: an error in its place would not be much shorter. */
const smallBytes = 1_024;

/**
 * Collects an answer and passes it to its receiver once, whole, unless so much may not be held. A batch has one for each call: it is one small
 * object.
 */
export class TextSink<Context> implements AnswerSink {
  readonly #receiver: TextReceiver<Context>;
  readonly #context: Context;
  /** Created when an answer begins that comes in parts: most come whole. */
  #collected: CollectedText | undefined;

  constructor(receiver: TextReceiver<Context>, context: Context) {
    this.#receiver = receiver;
    this.#context = context;
  }

  text(json: string, source: AnswerSource, retryAfterSeconds?: number): void {
    this.#whole(json, source, retryAfterSeconds);
  }

  bytes(body: Buffer, source: AnswerSource): void {
    this.#whole(body.toString("latin1"), source, undefined);
  }

  begin(_lengthBytes: number | undefined, source: AnswerSource): void {
    const { limitBytes, memory } = this.#receiver;
    this.#collected = { parts: new AnswerParts(limitBytes, memory), failure: undefined, source };
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

  fail(): void {
    this.#collected?.parts.release();
    this.#receiver.receive("broken", this.#context);
  }

  #whole(text: string, source: AnswerSource, retryAfterSeconds: number | undefined): void {
    this.#receiver.receive(
      explainRefusal(this.#receiver, text.length) ?? { text, source, retryAfterSeconds },
      this.#context,
    );
  }
}

/** Returns the reason for which a receiver may not have a whole answer; undefined if it may. */
export function explainRefusal(
  { limitBytes, memory }: Pick<TextReceiver<unknown>, "limitBytes" | "memory">,
  length: number,
): PartsFailure | undefined {
  if (length > limitBytes) return "tooLong";
  if (length <= smallBytes) return undefined;
  if (!memory.tryAcquire(length)) return "tooMuchHeld";
  memory.release(length);
  return undefined;
}

/** An answer that comes in parts. */
type CollectedText = { failure: PartsFailure | undefined } & Readonly<{ parts: AnswerParts; source: AnswerSource }>;

/** Creates a sink of one answer of at most `limitBytes`. A collected answer is held in `memory` until it is received. */
export function createTextSink(
  limitBytes: number,
  memory: HeldBytes,
  receive: (answer: TextAnswer | CollectionFailure) => void,
  receiveLong?: (answer: LongAnswer) => void,
): AnswerSink {
  return new TextSink(
    { limitBytes, memory, receive, ...(receiveLong === undefined ? {} : { receiveLong }) },
    undefined,
  );
}
