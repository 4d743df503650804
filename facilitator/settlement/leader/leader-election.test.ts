import { expect, test } from "vitest";
import { createLeaseDeadline } from "./leader-election.ts";

/** A deadline on a clock that the test advances. */
function startDeadline() {
  const state = { nowMs: 0, passed: 0 };
  const timers = new Set<Readonly<{ dueMs: number; end: () => void }>>();
  const deadline = createLeaseDeadline(3_500, {
    pause: (ms, signal) =>
      new Promise((end) => {
        timers.add({ dueMs: state.nowMs + ms, end });
        signal?.addEventListener("abort", () => end(), { once: true });
      }),
    onPassed: () => void (state.passed += 1),
  });
  const passTime = async (ms: number) => {
    state.nowMs += ms;
    for (const { dueMs, end } of timers) if (dueMs <= state.nowMs) end();
    await new Promise(setImmediate);
  };
  return { ...deadline, passTime, expired: () => state.passed };
}

test("expires a lease that was not renewed, counting from before its request", async () => {
  const { claim, passTime, expired } = startDeadline();
  const firstClaim = claim();
  await passTime(1_000);
  firstClaim.confirm();
  await passTime(2_400);
  expect(expired()).toBe(0);
  await passTime(100);
  expect(expired()).toBe(1);
});

test("extends the deadline on a renewal, but not on a failed one", async () => {
  const { claim, passTime, expired } = startDeadline();
  claim().confirm();
  await passTime(3_000);
  claim().confirm();
  await passTime(3_000);
  claim().drop();
  expect(expired()).toBe(0);
  await passTime(500);
  expect(expired()).toBe(1);
});

test("expires a lease at once when it is confirmed after its deadline", async () => {
  const { claim, passTime, expired } = startDeadline();
  const late = claim();
  await passTime(3_500);
  expect(expired()).toBe(0);
  late.confirm();
  expect(expired()).toBe(1);
});
