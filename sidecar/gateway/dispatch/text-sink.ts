import type { HeldBytes } from "../memory/connection-memory.ts";
import { ownBytes } from "../wire/own-bytes.ts";
import type { AnswerSink, AnswerSource } from "./answer-sink.ts";

/** A whole answer as a binary string. */
export type TextAnswer = Readonly<{ text: string; source: AnswerSource; retryAfterSeconds: number | undefined }>;

/** Why there is no whole answer: cut short, longer than it may be, or more than may be held now. */
export type NoText = "broken" | "tooLong" | "tooMuchHeld";

/**
 * Makes a sink that collects an answer of at most `limitBytes` and hands it to `take` once, whole. What is collected is held in `memory`
 * until then.
 */
export function textSink(
  limitBytes: number,
  memory: HeldBytes,
  take: (answer: TextAnswer | NoText) => void,
): AnswerSink {
  /** Bytes, and not text, because these are not in the heap, which is the smaller part of a process's memory. */
  let parts: Buffer[] = [];
  let collectedBytes = 0;
  let refusal: NoText | undefined;
  let streamSource: AnswerSource = "node";
  const whole = (text: string, source: AnswerSource, retryAfterSeconds?: number) => {
    take(text.length > limitBytes ? "tooLong" : { text, source, retryAfterSeconds });
  };
  const letGo = () => {
    memory.give(collectedBytes);
    parts = [];
    collectedBytes = 0;
  };
  return {
    text: whole,
    bytes: (body, source) => whole(body.toString("latin1"), source),
    refused: (json, retryAfterSeconds) => whole(json, "gateway", retryAfterSeconds),
    begin: (_lengthBytes, source) => {
      streamSource = source;
    },
    chunk: (bytes) => {
      if (refusal !== undefined) return true;
      if (collectedBytes + bytes.length > limitBytes) refusal = "tooLong";
      else if (!memory.take(bytes.length)) refusal = "tooMuchHeld";
      if (refusal !== undefined) {
        letGo();
        return true;
      }
      parts.push(ownBytes(bytes));
      collectedBytes += bytes.length;
      return true;
    },
    end: () => {
      const text = parts.map((part) => part.toString("latin1")).join("");
      letGo();
      if (refusal === undefined) whole(text, streamSource);
      else take(refusal);
    },
    broken: () => {
      letGo();
      take("broken");
    },
  };
}
