import type { ResponseSource } from "../responses/response-sink.ts";

/** Headers of a response, as name and value, in sending order. node:http and the fast path send the same headers. */
export type ResponseHeaders = readonly (readonly [name: string, value: string])[];

export const sourceHeader = "X-Gatehouse-Source";

/** Name of the header that carries the age of the node's latest block, in whole seconds. */
export const headAgeHeader = "X-Gatehouse-Head-Age";

/** Builds the headers appended to a response's own while the node's latest block is older than `reportAfterMs`. */
export function buildHeadAgeHeaders(blockAgeMs: number | undefined, reportAfterMs: number): ResponseHeaders {
  if (blockAgeMs === undefined || blockAgeMs <= reportAfterMs) return [];
  return [[headAgeHeader, String(Math.floor(blockAgeMs / 1_000))]];
}

export function buildWholeHeaders(source: ResponseSource, lengthBytes: number): ResponseHeaders {
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, source],
    ["Content-Length", String(lengthBytes)],
  ];
}

export function buildRejectedHeaders(retryAfterSeconds: number, lengthBytes: number): ResponseHeaders {
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, "gateway"],
    ["Retry-After", String(retryAfterSeconds)],
    ["Content-Length", String(lengthBytes)],
  ];
}

/** Builds the headers of a streamed response; without a length, node:http sends it chunked. */
export function buildStreamHeaders(source: ResponseSource, lengthBytes: number | undefined): ResponseHeaders {
  if (lengthBytes !== undefined) return buildWholeHeaders(source, lengthBytes);
  return [
    ["Content-Type", "application/json"],
    [sourceHeader, source],
  ];
}

export function formatHeaderLines(headers: ResponseHeaders): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}

/** Creates the function that builds an origin's headers (WHATWG Fetch, CORS protocol); undefined if the origin is not allowed. */
export function createCorsHeaders(allowedOrigins: readonly string[]): (origin: string) => ResponseHeaders | undefined {
  return (origin) => {
    if (!allowedOrigins.includes("*") && !allowedOrigins.includes(origin)) return undefined;
    return [
      ["Access-Control-Allow-Origin", allowedOrigins.includes("*") ? "*" : origin],
      ["Access-Control-Allow-Methods", "POST, OPTIONS"],
      ["Access-Control-Allow-Headers", "Authorization, Content-Type"],
      ["Access-Control-Expose-Headers", `Retry-After, ${sourceHeader}, ${headAgeHeader}`],
      ["Access-Control-Max-Age", "600"],
      ["Vary", "Origin"],
    ];
  };
}
