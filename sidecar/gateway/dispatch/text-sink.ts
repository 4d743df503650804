import type { AnswerSink, AnswerSource } from "./answer-sink.ts";

/** A whole answer as a binary string. */
export type TextAnswer = Readonly<{ text: string; source: AnswerSource; retryAfterSeconds: number | undefined }>;

/** Why there is no whole answer: cut short, or longer than it may be. */
export type NoText = "broken" | "tooLong";

/** Makes a sink that collects an answer of at most `limitBytes` and hands it to `take` once, whole. */
export function textSink(limitBytes: number, take: (answer: TextAnswer | NoText) => void): AnswerSink {
  let parts: Buffer[] = [];
  let size = 0;
  let streamSource: AnswerSource = "node";
  const whole = (text: string, source: AnswerSource, retryAfterSeconds?: number) => {
    take(text.length > limitBytes ? "tooLong" : { text, source, retryAfterSeconds });
  };
  return {
    text: whole,
    bytes: (body, source) => whole(body.toString("latin1"), source),
    refused: (json, retryAfterSeconds) => whole(json, "gateway", retryAfterSeconds),
    begin: (_lengthBytes, source) => {
      streamSource = source;
    },
    chunk: (bytes) => {
      size += bytes.length;
      if (size > limitBytes) parts = [];
      else parts.push(bytes);
      return true;
    },
    end: () => {
      if (size > limitBytes) take("tooLong");
      else whole(Buffer.concat(parts).toString("latin1"), streamSource);
    },
    broken: () => take("broken"),
  };
}
