import { expect, test } from "vitest";
import { createRetentionClock, forwardStepMs } from "./clock.ts";

function createTestClock() {
  const time = { wallMs: 1_000_000_000, monotonicMs: 0 };
  const now = createRetentionClock({ wallMs: () => time.wallMs, monotonicMs: () => time.monotonicMs });
  const pass = (ms: number) => {
    time.wallMs += ms;
    time.monotonicMs += ms;
    return now() - time.wallMs;
  };
  const set = (ms: number) => void (time.wallMs += ms);
  return { pass, set };
}

test("a retention clock ignores a forward step that is corrected", () => {
  const { pass, set } = createTestClock();
  expect(pass(5_000)).toBe(0);
  set(86_400_000);
  expect([pass(2_000), pass(2_000)]).toEqual([-86_400_000, -86_400_000]);
  set(-86_400_000);
  expect([pass(2_000), pass(forwardStepMs)]).toEqual([0, 0]);
});

test("a retention clock follows a forward step after an hour, and a backward step at once", () => {
  const { pass, set } = createTestClock();
  set(86_400_000);
  expect([pass(1), pass(forwardStepMs - 1), pass(1)]).toEqual([-86_400_000, -86_400_000, 0]);
  set(-7_200_000);
  expect(pass(1)).toBe(0);
});

test("a retention clock starts the hour anew when the clock steps again after a correction", () => {
  const { pass, set } = createTestClock();
  set(86_400_000);
  expect(pass(forwardStepMs - 2)).toBe(-86_400_000);
  set(-86_400_000);
  expect(pass(1)).toBe(0);
  set(86_400_000);
  expect(pass(1_000)).toBe(-86_400_000);
});
