import type { Head } from "../chain/head.ts";
import { isEmptyResult } from "../json-rpc/read-answer.ts";
import type { AnswerCache } from "./cache/answer-cache.ts";
import type { ReadMoment } from "./coalesced-read.ts";

/** Keeps the result of a read, a text that nothing else is a part of, until it can't be used again. */
export function keepResult(
  { cache, head }: Readonly<{ cache: AnswerCache; head: Head }>,
  { key, lifetime, generation, epoch }: ReadMoment & Readonly<{ key: string }>,
  json: string,
): void {
  if (isEmptyResult(json)) return;
  if (lifetime === "ever") cache.putForEver(key, json, epoch);
  // A head that changed meanwhile leaves open which of the two the answer belongs to.
  else if (lifetime === "head" && head.generation() === generation) cache.putForHead(key, json, generation);
}
