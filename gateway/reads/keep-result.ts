import type { Head } from "../chain/head.ts";
import { isEmptyResult } from "../json-rpc/read-answer.ts";
import type { ResponseCache } from "./cache/answer-cache.ts";
import type { ReadMoment } from "./coalesced-read.ts";

/** Caches the result of a read until it can no longer be used. The result is a text that is not a slice of another. */
export function keepResult(
  { cache, head }: Readonly<{ cache: ResponseCache; head: Head }>,
  { key, lifetime, generation, epoch }: ReadMoment & Readonly<{ key: string }>,
  json: string,
): void {
  if (isEmptyResult(json)) return;
  if (lifetime === "ever") cache.putForEver(key, json, epoch);
  // If the head changed while the call was in flight, the response may belong to either head.
  else if (lifetime === "head" && head.generation() === generation) cache.putForHead(key, json, generation);
}
