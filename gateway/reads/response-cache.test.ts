import { expect, test } from "vitest";
import { measureHeap } from "#daemon/testing/heap-size.ts";
import { FrequencySketch, ResponseCache } from "./response-cache.ts";
import { hashKey, hashParts } from "../json-rpc/call.ts";

const get = (cache: ResponseCache, key: string, generation: number) => cache.get(key, hashKey(key), generation);
const putForHead = (cache: ResponseCache, key: string, text: string, generation: number) =>
  cache.putForHead(key, hashKey(key), text, generation);
const putForEver = (cache: ResponseCache, key: string, text: string, epoch: number) =>
  cache.putForEver(key, hashKey(key), text, epoch);
const json = "x".repeat(840);
/** Bytes accounted for one entry with a one-letter key. */
const entryBytes = 1_001;

test("a new head drops only the old head's results", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 10_000 });
  putForHead(cache, "h", json, 1);
  putForEver(cache, "e", json, cache.epoch());
  expect([get(cache, "h", 1), get(cache, "e", 1)]).toEqual([json, json]);
  expect([get(cache, "h", 2), get(cache, "e", 2)]).toEqual([undefined, json]);
  expect([cache.entries(), cache.bytes()]).toEqual([1, entryBytes]);
});

test("discards a result requested before the cache was cleared", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 10_000 });
  const askedIn = cache.epoch();
  cache.clear();
  putForEver(cache, "e", json, askedIn);
  expect(get(cache, "e", 0)).toBeUndefined();
});

test("discards a text over the entry size limit", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 100 });
  putForHead(cache, "h", json, 0);
  expect(cache.entries()).toBe(0);
});

test("evicts unused entries before used ones when over its byte limit", () => {
  const cache = new ResponseCache({ totalBytes: 3 * entryBytes, entryBytes: 10_000 });
  for (const key of ["a", "b", "c"]) putForHead(cache, key, json, 0);
  get(cache, "a", 0);
  putForHead(cache, "d", json, 0);
  expect(["a", "b", "c", "d"].filter((key) => get(cache, key, 0) !== undefined)).toEqual(["a", "c", "d"]);
  expect(cache.bytes()).toBeLessThanOrEqual(3 * entryBytes);
});

test("a flood of immutable results does not evict the head's results, nor the reverse", () => {
  const cache = new ResponseCache({ totalBytes: 10 * entryBytes, entryBytes: 10_000 });
  putForHead(cache, "h", json, 0);
  for (let index = 0; index < 100; index += 1) putForEver(cache, `${index}`, json, cache.epoch());
  expect(get(cache, "h", 0)).toBe(json);
  for (let index = 0; index < 100; index += 1) putForHead(cache, `head ${index}`, json, 0);
  expect(cache.entries()).toBeGreaterThan(5);
  expect(get(cache, "99", 0)).toBe(json);
  expect(get(cache, "head 99", 0)).toBe(json);
  expect(cache.bytes()).toBeLessThanOrEqual(10 * entryBytes);
});

test("admits everything while nearly empty, then only repeated keys", () => {
  const cache = new ResponseCache({ totalBytes: 1_600 * entryBytes, entryBytes: 10_000 });
  const wanted = (name: string) => {
    const isWanted = cache.admits(hashKey(name));
    if (isWanted) putForHead(cache, name, json, 0);
    return isWanted;
  };
  const names = Array.from({ length: 1_000 }, (_, index) => `key ${index}`);
  expect(names.filter(wanted).length).toBeLessThan(120);
  expect(wanted("another")).toBe(false);
  expect(wanted("another")).toBe(true);
  get(cache, "another", 1);
  expect(wanted("yet another")).toBe(true);
});

test("never returns an entry for a different key with the same hash, and keeps the one in use", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 10_000 });
  const [one, other] = ["x", "y"].map((middle) => `${"a".repeat(256)}${middle}${"b".repeat(256)}`) as [string, string];
  expect(hashKey(one)).toBe(hashKey(other));
  putForHead(cache, one, json, 0);
  expect([get(cache, other, 0), get(cache, one, 0)]).toEqual([undefined, json]);
  putForHead(cache, other, "other", 0);
  expect([get(cache, other, 0), get(cache, one, 0)]).toEqual([undefined, json]);
  for (const _ of [1, 2]) putForHead(cache, other, "other", 0);
  expect([get(cache, one, 0), get(cache, other, 0), cache.entries()]).toEqual([undefined, "other", 1]);
});

test("retains a key without the message its params were sliced from", () => {
  const cache = new ResponseCache({ totalBytes: 10_000_000, entryBytes: 10_000 });
  const [messages, messageBytes] = [500, 65_536];
  const filler = " ".repeat(messageBytes);
  const partsOf = (at: number) => {
    const message = Buffer.from(`${filler}["0x${(100_000 + at).toString(16)}",false]`).toString("latin1");
    const params = message.slice(messageBytes);
    return [`eth_getBlockByNumber ${params}`, hashParts("eth_getBlockByNumber", params)] as const;
  };
  const before = measureHeap();
  for (let at = 0; at < messages; at += 1) cache.putForEver(...partsOf(at), "{}", cache.epoch());
  expect(measureHeap() - before).toBeLessThan((messages * messageBytes) / 4);
  expect(cache.get(...partsOf(7), 0)).toBe("{}");
});

const middle = (text: string) => "a".repeat(256) + text + "b".repeat(256);

test("counts how often a key was requested", () => {
  const sketch = new FrequencySketch();
  expect([1, 2, 3, 4].map(() => sketch.count(hashKey("a")))).toEqual([0, 1, 2, 3]);
  expect(sketch.count(hashKey("b"))).toBe(0);
});

test("counts few of a million one-time keys as known, and recognizes a recurring key among them", () => {
  const sketch = new FrequencySketch();
  let mistaken = 0;
  let known = 0;
  for (let index = 0; index < 1_000_000; index += 1) {
    if (sketch.count(hashKey(`eth_getBalance ["0x${index.toString(16).padStart(40, "0")}","latest"]`)) > 0)
      mistaken += 1;
    if (index % 1_000 === 999 && sketch.count(hashKey("hot")) > 0) known += 1;
  }
  expect(mistaken).toBeLessThan(20_000);
  expect(known).toBeGreaterThan(990);
});

test("forgets a key that is no longer requested", () => {
  const sketch = new FrequencySketch();
  for (let index = 0; index < 100; index += 1) sketch.count(hashKey("a"));
  for (let index = 0; index < 200_000; index += 1) sketch.count(hashKey(`other ${index}`));
  expect(sketch.count(hashKey("a"))).toBeLessThan(2);
});

test("reads only the two ends of a long key", () => {
  expect(hashKey(middle("x"))).toBe(hashKey(middle("y")));
  expect(hashKey(middle("x"))).not.toBe(hashKey(middle("xx")));
  expect(hashKey("ab")).not.toBe(hashKey("ba"));
});
