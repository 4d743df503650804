import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { watchLoopDelay } from "./loop-delay.ts";

const blockedMs = 400;
const now = () => performance.now();

test("a loop that stood still counts as late, for the next half second", async () => {
  using loop = watchLoopDelay({ now });
  expect(loop.delayMs()).toBe(0);
  const until = now() + blockedMs;
  while (now() < until);
  await sleep(1);
  expect(loop.delayMs()).toBeGreaterThan(blockedMs - 150);
  const deadline = now() + 10_000;
  while (loop.delayMs() > blockedMs - 150 && now() < deadline) await sleep(20);
  expect(loop.delayMs()).toBeLessThan(blockedMs - 150);
});
