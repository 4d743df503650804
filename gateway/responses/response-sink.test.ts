import { describe, expect, it } from "vitest";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { LateFlow, ResponseParts } from "./response-sink.ts";

/** A memory budget of this size in bytes, and the number of reserved bytes. */
function startMemory(limitBytes: number) {
  let bytes = 0;
  const add = (more: number) => {
    bytes += more;
    return bytes <= limitBytes;
  };
  const memory = {
    hold: add,
    tryAcquire: (more: number) => bytes + more <= limitBytes && add(more),
    release: (less: number) => void add(-less),
  };
  return { memory, heldBytes: () => bytes };
}

const part = (text: string) => Buffer.from(text);

describe("buffered response chunks", () => {
  it("are limited, and released once", () => {
    const { memory, heldBytes } = startMemory(100);
    const parts = new ResponseParts(5, memory);
    expect([parts.tryAdd(part("abc")), parts.tryAdd(part("de")), parts.tryAdd(part("f"))]).toEqual([
      undefined,
      undefined,
      "tooLarge",
    ]);
    expect([heldBytes(), parts.joined().toString()]).toEqual([5, "abcde"]);
    expect(Buffer.concat(parts.release()).toString()).toBe("abcde");
    parts.release();
    expect([heldBytes(), parts.joined().length]).toEqual([0, 0]);
  });

  it("are kept if already received, and the excess is reported; later chunks are rejected", () => {
    const { memory, heldBytes } = startMemory(4);
    const [came, asked] = [new ResponseParts(5, memory), new ResponseParts(5, memory)];
    expect([came.hold(part("abc")), asked.tryAdd(part("de")), came.hold(part("de")), came.hold(part("f"))]).toEqual([
      undefined,
      "tooMuchHeld",
      "tooMuchHeld",
      "tooLarge",
    ]);
    expect([came.joined().toString(), asked.joined().toString(), heldBytes()]).toEqual(["abcdef", "", 6]);
    came.release();
    asked.release();
    expect(heldBytes()).toBe(0);
  });

  it("do not retain a larger buffer", () => {
    const parts = new ResponseParts(100, roomyMemory);
    parts.tryAdd(Buffer.alloc(1_000_000).subarray(0, 10));
    expect(parts.release()[0]?.buffer.byteLength).toBeLessThan(100_000);
  });
});

it("cancels a response if its client disconnects before or during its start", () => {
  const calls: string[] = [];
  const own = { resume: () => undefined, cancel: () => void calls.push("cancel") };
  const [earlyFlow, lateFlow] = [new LateFlow(), new LateFlow()];
  earlyFlow.cancel();
  earlyFlow.begin(() => expect.unreachable("its reader is gone"));
  lateFlow.begin(() => {
    lateFlow.cancel();
    return own;
  });
  expect(calls).toEqual(["cancel"]);
});
