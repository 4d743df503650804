import { describe, expect, it } from "vitest";
import { createCatalogue } from "../catalogue/catalogue.ts";
import { discardedResponse, finishedFlow } from "../answers/answer-sink.ts";
import { roomyMemory } from "../testing/roomy-memory.ts";
import { NodePool } from "../upstream/node-pool.ts";
import { SharedTurns } from "../wire/shared-turns.ts";
import { createReadsInFlight, type ReadsInFlight } from "./reads-in-flight.ts";
import { hashKey } from "../json-rpc/key-hash.ts";
import { CoalescedRead } from "./coalesced-read.ts";

const method = createCatalogue({}).get("eth_gasPrice")!;

/** A read that is never started. */
function readOf(key: string): CoalescedRead {
  using pool = new NodePool(
    {
      httpUrl: "http://127.0.0.1:1",
      connections: 1,
      queuedCalls: 1,
      queuedCallsPerCaller: 1,
      heldConnections: 1,
      connectTimeoutMs: 1,
      idleTimeoutMs: 1,
      responseBytes: () => 1,
    },
    { now: () => 0, turns: new SharedTurns({ now: () => 0, later: () => undefined }) },
  );
  const owner = { pool, limitBytes: 1, closed: () => undefined, result: () => undefined, alone: () => finishedFlow };
  return new CoalescedRead(
    {
      id: "1",
      method,
      caller: "a",
      memory: roomyMemory,
      params: "[]",
      key,
      traceContext: undefined,
      sink: discardedResponse,
      done: () => undefined,
    },
    { lifetime: "head", generation: 1, epoch: 1, hash: hashKey(key), isKept: true },
    owner,
  );
}

const find = (underWay: ReadsInFlight, key: string) => underWay.get(hashKey(key), key);

describe("reads under way", () => {
  it("are found by their keys until they are removed", () => {
    const underWay = createReadsInFlight();
    const [a, b] = [readOf("a"), readOf("b")];
    expect(find(underWay, "a")).toBeUndefined();
    underWay.add(a);
    underWay.add(b);
    expect([find(underWay, "a"), find(underWay, "b")]).toEqual([a, b]);
    underWay.remove(a);
    underWay.remove(a);
    expect(find(underWay, "a")).toBeUndefined();
    expect(find(underWay, "b")).toBe(b);
  });

  it("are the latest of their key: the end of an older one leaves the newer one", () => {
    const underWay = createReadsInFlight();
    const [older, newer] = [readOf("a"), readOf("a")];
    underWay.add(older);
    underWay.add(newer);
    expect(find(underWay, "a")).toBe(newer);
    underWay.remove(older);
    expect(find(underWay, "a")).toBe(newer);
    underWay.remove(newer);
    expect(find(underWay, "a")).toBeUndefined();
  });

  it("are not taken for others that share their place", () => {
    const underWay = createReadsInFlight();
    const many = Array.from({ length: 20_000 }, (_, index) => `key ${index}`);
    underWay.add(readOf("a"));
    expect(many.filter((key) => find(underWay, key) !== undefined)).toEqual([]);
  });

  it("stay what they are when many others have come and gone", () => {
    const underWay = createReadsInFlight();
    const stays = readOf("stays");
    underWay.add(stays);
    for (let other = 0; other < 300; other += 1) {
      const read = readOf(`other ${other}`);
      underWay.add(read);
      expect(find(underWay, `other ${other}`)).toBe(read);
      underWay.remove(read);
      expect(find(underWay, `other ${other}`)).toBeUndefined();
      expect(find(underWay, "stays")).toBe(stays);
    }
    underWay.remove(stays);
    expect(find(underWay, "stays")).toBeUndefined();
  });
});
