import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { processStart } from "./process-start.ts";

/** For how long this process stands still at each turn of its event loop. */
const stallMs = 150;

/** Clock ticks, by which Linux tells a process's start and the machine's uptime. */
const precisionMs = 25;

test("a process is never taken for younger than it is, however long this one stands still while it asks", async () => {
  const child = spawn("sleep", ["60"]);
  try {
    await new Promise((resolve) => child.once("spawn", resolve));
    const begun = { wallMs: Date.now(), monotonicMs: performance.now() };
    const told = new AbortController();
    const asked = processStart(child.pid ?? 0, systemClock).finally(() => told.abort());
    while (!told.signal.aborted) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const start = await asked;
    expect(start?.monotonicMs).toBeLessThan(begun.monotonicMs + precisionMs);
    expect(start?.monotonicMs).toBeGreaterThan(begun.monotonicMs - 2_000);
    expect(start?.wallMs).toBeLessThan(begun.wallMs + precisionMs);
  } finally {
    child.kill("SIGKILL");
  }
});

test("of a process that has ended nothing is told", async () => {
  const child = spawn("true");
  await new Promise((resolve) => child.once("exit", resolve));
  expect(await processStart(child.pid ?? 0, systemClock)).toBeUndefined();
});
