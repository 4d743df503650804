import type { AnswerSource } from "../answers/answer-sink.ts";

/** Headers of an answer by name, in the order in which they are sent; node:http and the fast path send the same. */
export type AnswerHeaders = readonly (readonly [name: string, value: string])[];

/** Name of the header with an answer's origin. */
export const sourceHeader = "X-Gatehouse-Source";

/** Name of the header with the age of the node's latest block, in whole seconds. */
export const headAgeHeader = "X-Gatehouse-Head-Age";

/** Builds the headers that follow an answer's own while the node's latest block is older than `reportAfterMs`. */
export function buildHeadAgeHeaders(blockAgeMs: number | undefined, reportAfterMs: number): AnswerHeaders {
  if (blockAgeMs === undefined || blockAgeMs <= reportAfterMs) return [];
  return [[headAgeHeader, String(Math.floor(blockAgeMs / 1_000))]];
}

/** Builds the headers of an answer whose length is known. */
export function buildWholeHeaders(source: AnswerSource, lengthBytes: number): AnswerHeaders {
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, source],
    ["Content-Length", String(lengthBytes)],
  ];
}

/** Builds the headers of an answer that a limit made. */
export function buildRefusedHeaders(retryAfterSeconds: number, lengthBytes: number): AnswerHeaders {
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, "gateway"],
    ["Retry-After", String(retryAfterSeconds)],
    ["Content-Length", String(lengthBytes)],
  ];
}

/** Builds the headers of an answer that is streamed; without a length node:http chunks it. */
export function buildStreamHeaders(source: AnswerSource, lengthBytes: number | undefined): AnswerHeaders {
  if (lengthBytes !== undefined) return buildWholeHeaders(source, lengthBytes);
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, source],
  ];
}

/** Formats headers as lines, each with its line end. */
export function formatHeaderLines(headers: AnswerHeaders): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}
