import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { systemClock } from "../clock.ts";
import { createFileDeadline } from "./file-deadline.ts";

const withinMs = 200;

function watchedDeadline() {
  const options = { withinMs, signal: new AbortController().signal };
  return createFileDeadline(options, { clock: systemClock, onBack: () => undefined });
}

/** Blocks this process, like a frozen container. */
function blockThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("a file system that responds while this process is blocked does not count as hung", async () => {
  const { call, hangs } = watchedDeadline();
  const read = call("reading /proc/self/stat", () => readFile("/proc/self/stat", "utf8"));
  blockThread(3 * withinMs);
  expect(await read).toContain("(");
  expect(hangs()).toBe(false);
});

test("an unresponsive file system counts as hung, and the error includes since when", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { call, hangs } = watchedDeadline();
  await expect(call("reading /a/node.conf", () => promise)).rejects.toThrow(
    /^reading \/a\/node\.conf has hung since \S+Z \(limit: 200 ms\): the file system does not respond/,
  );
  expect(hangs()).toBe(true);
  await expect(call("reading another", () => Promise.resolve(""))).rejects.toThrow(/^reading \/a\/node\.conf/);
  resolve("");
  await expect.poll(hangs).toBe(false);
});
