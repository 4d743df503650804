import type { CollectionFailure } from "../errors.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import { ownBytes } from "../wire/own-bytes.ts";
import type { AnswerSink, AnswerSource } from "./answer-sink.ts";

/** A whole answer as a binary string. */
export type TextAnswer = Readonly<{ text: string; source: AnswerSource; retryAfterSeconds: number | undefined }>;

/** Who takes the answers of one or more sinks, each with what it is the answer to. */
export type TextTaker<Asked> = Readonly<{
  /** Longest answer. */
  limitBytes: number;
  /** What is collected is held in it until it is taken. */
  memory: HeldBytes;
  take: (answer: TextAnswer | CollectionFailure, asked: Asked) => void;
}>;

/** Longest answer that is handed on whatever else is held: an error in its place would not be much shorter. */
const smallBytes = 1_024;

/** A sink that collects an answer and hands it to its taker once, whole, unless so much may not be held. A batch has one for each call: it is one small object. */
export class TextSink<Asked> implements AnswerSink {
  readonly #taker: TextTaker<Asked>;
  readonly #asked: Asked;
  /** Made when an answer begins that comes in parts: most come whole. */
  #collected: CollectedText | undefined;

  constructor(taker: TextTaker<Asked>, asked: Asked) {
    this.#taker = taker;
    this.#asked = asked;
  }

  text(json: string, source: AnswerSource): void {
    this.#whole(json, source, undefined);
  }

  bytes(body: Buffer, source: AnswerSource): void {
    this.#whole(body.toString("latin1"), source, undefined);
  }

  refused(json: string, retryAfterSeconds: number): void {
    this.#whole(json, "gateway", retryAfterSeconds);
  }

  begin(_lengthBytes: number | undefined, source: AnswerSource): void {
    this.#collected = { parts: [], bytes: 0, refusal: undefined, source };
  }

  chunk(bytes: Buffer): boolean {
    const collected = this.#collected;
    if (collected === undefined || collected.refusal !== undefined) return true;
    const { limitBytes, memory } = this.#taker;
    if (collected.bytes + bytes.length > limitBytes) collected.refusal = "tooLong";
    else if (!memory.take(bytes.length)) collected.refusal = "tooMuchHeld";
    if (collected.refusal !== undefined) {
      this.#letGo(collected);
      return true;
    }
    collected.parts.push(ownBytes(bytes));
    collected.bytes += bytes.length;
    return true;
  }

  end(): void {
    const collected = this.#collected;
    if (collected === undefined) return;
    const text = collected.parts.map((part) => part.toString("latin1")).join("");
    this.#letGo(collected);
    const answer = { text, source: collected.source, retryAfterSeconds: undefined };
    this.#taker.take(collected.refusal ?? answer, this.#asked);
  }

  broken(): void {
    if (this.#collected !== undefined) this.#letGo(this.#collected);
    this.#taker.take("broken", this.#asked);
  }

  #whole(text: string, source: AnswerSource, retryAfterSeconds: number | undefined): void {
    const refusal = text.length > this.#taker.limitBytes ? "tooLong" : this.#refusalOf(text.length);
    this.#taker.take(refusal ?? { text, source, retryAfterSeconds }, this.#asked);
  }

  #refusalOf(bytes: number): "tooMuchHeld" | undefined {
    if (bytes <= smallBytes) return undefined;
    const { memory } = this.#taker;
    if (!memory.take(bytes)) return "tooMuchHeld";
    memory.give(bytes);
    return undefined;
  }

  #letGo(collected: CollectedText): void {
    this.#taker.memory.give(collected.bytes);
    collected.parts = [];
    collected.bytes = 0;
  }
}

/** An answer that comes in parts: bytes, and not text, because these are not in the heap, which is the smaller part of a process's memory. */
type CollectedText = { parts: Buffer[]; bytes: number; refusal: "tooLong" | "tooMuchHeld" | undefined } & Readonly<{
  source: AnswerSource;
}>;

/** Makes a sink of one answer of at most `limitBytes`. What is collected is held in `memory` until it is taken. */
export function textSink(
  limitBytes: number,
  memory: HeldBytes,
  take: (answer: TextAnswer | CollectionFailure) => void,
): AnswerSink {
  return new TextSink({ limitBytes, memory, take }, undefined);
}
