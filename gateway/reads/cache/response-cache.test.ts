import { expect, test } from "vitest";
import { measureHeap } from "#daemon/testing/heap-size.ts";
import { FrequencySketch, ResponseCache } from "./response-cache.ts";
import { hashKey, hashParts } from "../../json-rpc/key-hash.ts";

const json = "x".repeat(840);
/** Bytes accounted for one entry with a one-letter key. */
const entryBytes = 1_001;

test("a new head drops what was read of the old one, and nothing else", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 10_000 });
  cache.putForHead("h", json, 1);
  cache.putForEver("e", json, cache.epoch());
  expect([cache.get("h", 1), cache.get("e", 1)]).toEqual([json, json]);
  expect([cache.get("h", 2), cache.get("e", 2)]).toEqual([undefined, json]);
  expect([cache.entries(), cache.bytes()]).toEqual([1, entryBytes]);
});

test("a result that was requested before the cache was cleared is not kept", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 10_000 });
  const askedIn = cache.epoch();
  cache.clear();
  cache.putForEver("e", json, askedIn);
  expect(cache.get("e", 0)).toBeUndefined();
});

test("a text over the limit of one entry is not kept", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 100 });
  cache.putForHead("h", json, 0);
  expect(cache.entries()).toBe(0);
});

test("over its bytes, the cache gives up what was not used, and what was used last of all", () => {
  const cache = new ResponseCache({ totalBytes: 3 * entryBytes, entryBytes: 10_000 });
  for (const key of ["a", "b", "c"]) cache.putForHead(key, json, 0);
  cache.get("a", 0);
  cache.putForHead("d", json, 0);
  expect(["a", "b", "c", "d"].filter((key) => cache.get(key, 0) !== undefined)).toEqual(["a", "c", "d"]);
  expect(cache.bytes()).toBeLessThanOrEqual(3 * entryBytes);
});

test("neither a flood of lasting results nor one of the head's drives the other out", () => {
  const cache = new ResponseCache({ totalBytes: 10 * entryBytes, entryBytes: 10_000 });
  cache.putForHead("h", json, 0);
  for (let index = 0; index < 100; index += 1) cache.putForEver(`${index}`, json, cache.epoch());
  expect(cache.get("h", 0)).toBe(json);
  for (let index = 0; index < 100; index += 1) cache.putForHead(`head ${index}`, json, 0);
  expect(cache.entries()).toBeGreaterThan(5);
  expect(cache.get("99", 0)).toBe(json);
  expect(cache.get("head 99", 0)).toBe(json);
  expect(cache.bytes()).toBeLessThanOrEqual(10 * entryBytes);
});

test("wants everything while it is nearly empty, and then what comes again", () => {
  const cache = new ResponseCache({ totalBytes: 1_600 * entryBytes, entryBytes: 10_000 });
  const wanted = (name: string) => {
    const isWanted = cache.admits(hashKey(name));
    if (isWanted) cache.putForHead(name, json, 0);
    return isWanted;
  };
  const names = Array.from({ length: 1_000 }, (_, index) => `key ${index}`);
  expect(names.filter(wanted).length).toBeLessThan(120);
  expect(wanted("another")).toBe(false);
  expect(wanted("another")).toBe(true);
  cache.get("another", 1);
  expect(wanted("yet another")).toBe(true);
});

test("gives no key the answer of another one with the same hash, and keeps that of the one in use", () => {
  const cache = new ResponseCache({ totalBytes: 100_000, entryBytes: 10_000 });
  const [one, other] = ["x", "y"].map((middle) => `${"a".repeat(256)}${middle}${"b".repeat(256)}`) as [string, string];
  expect(hashKey(one)).toBe(hashKey(other));
  cache.putForHead(one, json, 0);
  expect([cache.get(other, 0), cache.get(one, 0)]).toEqual([undefined, json]);
  cache.putForHead(other, "other", 0);
  expect([cache.get(other, 0), cache.get(one, 0)]).toEqual([undefined, json]);
  for (const _ of [1, 2]) cache.putForHead(other, "other", 0);
  expect([cache.get(one, 0), cache.get(other, 0), cache.entries()]).toEqual([undefined, "other", 1]);
});

test("keeps a key without the message that its parameters were cut from", () => {
  const cache = new ResponseCache({ totalBytes: 10_000_000, entryBytes: 10_000 });
  const [messages, messageBytes] = [500, 65_536];
  const filler = " ".repeat(messageBytes);
  const keyOf = (at: number) => {
    const params = Buffer.from(`${filler}["0x${(100_000 + at).toString(16)}",false]`)
      .toString("latin1")
      .slice(messageBytes);
    const key = `eth_getBlockByNumber ${params}`;
    hashParts(key, "eth_getBlockByNumber", params);
    return key;
  };
  const before = measureHeap();
  for (let at = 0; at < messages; at += 1) cache.putForEver(keyOf(at), "{}", cache.epoch());
  expect(measureHeap() - before).toBeLessThan((messages * messageBytes) / 4);
  expect(cache.get(keyOf(7), 0)).toBe("{}");
});

const middle = (text: string) => "a".repeat(256) + text + "b".repeat(256);

test("counts how often a key came before", () => {
  const sketch = new FrequencySketch();
  expect([1, 2, 3, 4].map(() => sketch.count(hashKey("a")))).toEqual([0, 1, 2, 3]);
  expect(sketch.count(hashKey("b"))).toBe(0);
});

test("takes few of a million keys that come once for known ones, and knows one that keeps coming among them", () => {
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

test("forgets a key that does not come any more", () => {
  const sketch = new FrequencySketch();
  for (let index = 0; index < 100; index += 1) sketch.count(hashKey("a"));
  for (let index = 0; index < 200_000; index += 1) sketch.count(hashKey(`other ${index}`));
  expect(sketch.count(hashKey("a"))).toBeLessThan(2);
});

test("looks at no more of a long key than its ends", () => {
  expect(hashKey(middle("x"))).toBe(hashKey(middle("y")));
  expect(hashKey(middle("x"))).not.toBe(hashKey(middle("xx")));
  expect(hashKey("ab")).not.toBe(hashKey("ba"));
});
