import { expect, test } from "vitest";
import { ScratchBuffers } from "./scratch-buffers.ts";

test("memory is reused only after its release", () => {
  const scratch = new ScratchBuffers();
  const one = scratch.acquire(20_000);
  const other = scratch.acquire(20_000);
  expect(other.buffer).not.toBe(one.buffer);
  scratch.release(one);
  expect(scratch.acquire(30_000).buffer).toBe(one.buffer);
  expect(scratch.acquire(30_000).buffer).not.toBe(one.buffer);
});

test("a message reserves at most twice its length", () => {
  const scratch = new ScratchBuffers();
  for (let length = 9_000; length < 500_000; length += 1_000) {
    const acquired = scratch.acquire(length);
    expect(acquired.length).toBe(length);
    expect(acquired.buffer.byteLength).toBeLessThanOrEqual(2 * length);
    scratch.release(acquired);
  }
});
