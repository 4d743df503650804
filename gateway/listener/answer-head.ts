import type { AnswerSource } from "../answers/answer-sink.ts";

/** Headers of an answer by name, in the order in which they are sent; node:http and the fast path send the same. */
export type AnswerHeaders = readonly (readonly [name: string, value: string])[];

/** Says where an answer came from. */
export const sourceHeader = "X-Gatehouse-Source";

/** Says how old the chain's latest block is that the node has, in whole seconds. */
export const headAgeHeader = "X-Gatehouse-Head-Age";

/** Headers that follow an answer's own while the node's latest block is older than `reportAfterMs`. */
export function buildHeadAgeHeaders(blockAgeMs: number | undefined, reportAfterMs: number): AnswerHeaders {
  if (blockAgeMs === undefined || blockAgeMs <= reportAfterMs) return [];
  return [[headAgeHeader, String(Math.floor(blockAgeMs / 1_000))]];
}

/** Headers of an answer whose length is known. */
export function buildWholeHeaders(source: AnswerSource, lengthBytes: number): AnswerHeaders {
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, source],
    ["Content-Length", String(lengthBytes)],
  ];
}

/** Headers of an answer that a limit made. */
export function buildRefusedHeaders(retryAfterSeconds: number, lengthBytes: number): AnswerHeaders {
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, "gateway"],
    ["Retry-After", String(retryAfterSeconds)],
    ["Content-Length", String(lengthBytes)],
  ];
}

/** Headers of an answer that is streamed; without a length node:http chunks it. */
export function buildStreamHeaders(source: AnswerSource, lengthBytes: number | undefined): AnswerHeaders {
  if (lengthBytes !== undefined) return buildWholeHeaders(source, lengthBytes);
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, source],
  ];
}

/** Headers as lines, each with its end. */
export function formatHeaderLines(headers: AnswerHeaders): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}
