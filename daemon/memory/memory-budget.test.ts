import { describe, expect, it } from "vitest";
import { ConnectionMemory } from "./connection-memory.ts";
import { deriveMemoryBounds, MemoryBudget } from "./memory-budget.ts";

/** A budget of 100 bytes (or 100 times `scale`), 60 per address and 40 per connection, with a cache of this size. */
function startBudget(cachedBytes = 0, scale = 1) {
  const state = { cachedBytes };
  const cache = {
    bytes: () => state.cachedBytes,
    evict: (bytes: number) => {
      state.cachedBytes = Math.max(0, state.cachedBytes - bytes);
    },
  };
  const options = { totalBytes: 100 * scale, addressBytes: 60 * scale, connectionBytes: 40 * scale };
  const budget = new MemoryBudget(options, { cache });
  const cut: string[] = [];
  const open = (address: string, name = address) =>
    new ConnectionMemory(budget, { address: () => address, cut: () => cut.push(name) });
  return { budget, cut, open, cachedBytes: () => state.cachedBytes };
}

const mebibyte = 1_048_576;
const bounds = (processMiB: number, heapMiB: number) =>
  deriveMemoryBounds({}, { processBytes: processMiB * mebibyte, heapBytes: heapMiB * mebibyte }).totalBytes / mebibyte;

describe("memory held for clients", () => {
  it("is limited per connection and per address, and rejected beyond the limits", () => {
    const { budget, cut, open } = startBudget();
    const [first, secondConnection, other] = [open("a"), open("a"), open("b")];
    expect([first.tryAcquire(40), first.tryAcquire(1)]).toEqual([true, false]);
    expect([secondConnection.tryAcquire(20), secondConnection.tryAcquire(1)]).toEqual([true, false]);
    expect(other.tryAcquire(40)).toBe(true);
    first.release(10);
    expect(secondConnection.tryAcquire(10)).toBe(true);
    expect([budget.bytes, cut]).toEqual([100, []]);
  });

  it("is counted if already allocated, and a holder over its limit must stop", () => {
    const { budget, open } = startBudget();
    const first = open("a");
    expect([first.hold(40), first.hold(1)]).toEqual([true, false]);
    const secondConnection = open("a");
    expect([secondConnection.hold(19), secondConnection.hold(1)]).toEqual([true, false]);
    first[Symbol.dispose]();
    expect([budget.bytes, secondConnection.hold(0)]).toEqual([20, true]);
  });

  it("is reclaimed from the cache first, then from the slowest client among the largest holders", () => {
    const { budget, cut, open, cachedBytes } = startBudget(50);
    const [first] = ["a1", "a2", "a3"].map((name) => {
      const memory = open("a", name);
      memory.hold(16);
      memory.waits(name === "a2" ? 0 : 16);
      return memory;
    });
    open("b", "b1").hold(28);
    first?.release(1);
    first?.waits(-1);
    const c = open("c", "c1");
    expect(c.tryAcquire(25)).toBe(true);
    expect([cachedBytes(), cut]).toEqual([0, []]);
    expect(c.tryAcquire(10)).toBe(true);
    expect([budget.bytes, cut]).toEqual([94, ["a3"]]);
  });

  it("has a margin for addresses with little memory while others fill the budget", () => {
    const { budget, cut, open } = startBudget(0, 64);
    for (const address of ["a", "b", "c", "d"]) expect(open(address).tryAcquire(25 * 64)).toBe(true);
    const smallHolder = open("e");
    expect([smallHolder.tryAcquire(101), smallHolder.tryAcquire(60), smallHolder.tryAcquire(41)]).toEqual([
      false,
      true,
      false,
    ]);
    const otherAcquisitions = Array.from({ length: 20 }, (_, at) => open(`f${at}`).tryAcquire(100));
    expect(otherAcquisitions.filter((isTaken) => isTaken)).toHaveLength(7);
    expect([budget.bytes, cut]).toEqual([100 * 64 + 760, []]);
  });

  it("counts towards the address known at allocation, and is freed with the connection", () => {
    const { budget, open } = startBudget();
    let address = "a";
    const movingConnection = new ConnectionMemory(budget, { address: () => address, cut: () => undefined });
    movingConnection.tryAcquire(40);
    address = "b";
    movingConnection.release(40);
    expect(open("a").tryAcquire(40)).toBe(true);
    expect(movingConnection.tryAcquire(40)).toBe(true);
    movingConnection[Symbol.dispose]();
    movingConnection.release(40);
    expect([movingConnection.tryAcquire(1), budget.bytes]).toEqual([false, 40]);
  });
});

describe("the default limits", () => {
  it("follow from the container's memory or the heap, whichever is less", () => {
    expect([bounds(512, 1_024), bounds(512, 192), bounds(65_536, 4_192)]).toEqual([128, 48, 1_024]);
  });

  it("give an address half and a connection a quarter, unless configured", () => {
    const limits = { processBytes: 512 * mebibyte, heapBytes: 1_024 * mebibyte };
    expect(deriveMemoryBounds({}, limits)).toEqual({
      totalBytes: 128 * mebibyte,
      addressBytes: 64 * mebibyte,
      connectionBytes: 32 * mebibyte,
    });
    expect(deriveMemoryBounds({ totalBytes: 1_000, addressBytes: 900, connectionBytes: 800 }, limits)).toEqual({
      totalBytes: 1_000,
      addressBytes: 900,
      connectionBytes: 800,
    });
  });
});
