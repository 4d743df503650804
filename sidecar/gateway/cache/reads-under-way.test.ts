import { describe, expect, it } from "vitest";
import { makeCatalogue } from "../catalogue/catalogue.ts";
import { discardedAnswer, finishedFlow } from "../dispatch/answer-sink.ts";
import { NodePool } from "../upstream/node-pool.ts";
import { makeReadsUnderWay } from "./reads-under-way.ts";
import { SharedRead } from "./shared-read.ts";

const method = makeCatalogue({}).get("eth_gasPrice")!;

/** A read that is never started. */
function readOf(key: string): SharedRead {
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
    { now: () => 0 },
  );
  const owner = { pool, limitBytes: 1, closed: () => undefined, result: () => undefined, alone: () => finishedFlow };
  return new SharedRead(
    { method, caller: "a", params: "[]", key, traceContext: undefined },
    { scope: "head", generation: 1, epoch: 1 },
    { first: { id: "1", sink: discardedAnswer, done: () => undefined }, owner },
  );
}

describe("reads under way", () => {
  it("are found by their keys until they are removed", () => {
    const underWay = makeReadsUnderWay();
    const [a, b] = [readOf("a"), readOf("b")];
    expect(underWay.get("a")).toBeUndefined();
    underWay.add(a);
    underWay.add(b);
    expect([underWay.get("a"), underWay.get("b")]).toEqual([a, b]);
    underWay.remove(a);
    underWay.remove(a);
    expect(underWay.get("a")).toBeUndefined();
    expect(underWay.get("b")).toBe(b);
  });

  it("are the latest of their key: the end of an older one leaves the newer one", () => {
    const underWay = makeReadsUnderWay();
    const [older, newer] = [readOf("a"), readOf("a")];
    underWay.add(older);
    underWay.add(newer);
    expect(underWay.get("a")).toBe(newer);
    underWay.remove(older);
    expect(underWay.get("a")).toBe(newer);
    underWay.remove(newer);
    expect(underWay.get("a")).toBeUndefined();
  });

  it("stay what they are when many others have come and gone", () => {
    const underWay = makeReadsUnderWay();
    const stays = readOf("stays");
    underWay.add(stays);
    for (let other = 0; other < 300; other += 1) {
      const read = readOf(`other ${other}`);
      underWay.add(read);
      expect(underWay.get(`other ${other}`)).toBe(read);
      underWay.remove(read);
      expect(underWay.get(`other ${other}`)).toBeUndefined();
      expect(underWay.get("stays")).toBe(stays);
    }
    underWay.remove(stays);
    expect(underWay.get("stays")).toBeUndefined();
  });
});
