import { expect, test } from "vitest";
import { ScratchBuffers } from "./scratch-buffers.ts";

test("memory is used again once it was given back, and not before", () => {
  const scratch = new ScratchBuffers();
  const one = scratch.take(20_000);
  const other = scratch.take(20_000);
  expect(other.buffer).not.toBe(one.buffer);
  scratch.giveBack(one);
  expect(scratch.take(30_000).buffer).toBe(one.buffer);
  expect(scratch.take(30_000).buffer).not.toBe(one.buffer);
});

test("no message holds more than twice its length", () => {
  const scratch = new ScratchBuffers();
  for (let length = 9_000; length < 500_000; length += 1_000) {
    const taken = scratch.take(length);
    expect(taken.length).toBe(length);
    expect(taken.buffer.byteLength).toBeLessThanOrEqual(2 * length);
    scratch.giveBack(taken);
  }
});
