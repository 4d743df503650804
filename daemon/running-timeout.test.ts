import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { runningTimeout } from "./running-timeout.ts";

test("a time limit is over after its time, with the error of a time limit", async () => {
  const startedAt = performance.now();
  const signal = runningTimeout(200);
  await once(signal, "abort");
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(198);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("time in which the event loop stands still does not use it up", async () => {
  const signal = runningTimeout(1_000);
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  await sleep(1);
  expect(signal.aborted).toBe(false);
  await once(signal, "abort");
});
