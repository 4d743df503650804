import { expect, test } from "vitest";
import { createCorrectionRate } from "./correction-rate.ts";

const minuteMs = 60_000;

function rateWithClock() {
  const time = { nowMs: 1_000 };
  return { time, rate: createCorrectionRate({ wallMs: () => time.nowMs, monotonicMs: () => time.nowMs }) };
}

test("reports a conflict after more than 60 corrections a minute, until a minute of calm", () => {
  const { time, rate } = rateWithClock();
  for (let index = 0; index < 61; index += 1) rate.record(`content ${index}`);
  expect(rate.contested()).toBe(true);
  expect(rate.repeated()).toBe(false);
  time.nowMs += minuteMs;
  expect(rate.contested()).toBe(false);
});

test("detects, at the third write, a program that rewrites the same content every half hour, and drops it after six hours", () => {
  const { time, rate } = rateWithClock();
  const reports = [0, 1, 2].map(() => {
    rate.record("theirs");
    time.nowMs += 30 * minuteMs;
    return rate.repeated();
  });
  expect(reports).toEqual([false, false, true]);
  expect(rate.contested()).toBe(false);
  time.nowMs += 6 * 60 * minuteMs;
  expect(rate.repeated()).toBe(false);
});

test("blames the node's own startup once it has overwritten the same content at two consecutive restarts", () => {
  const { rate } = rateWithClock();
  const record = (fingerprint: string, restartMs?: number) =>
    rate.record(`theirs ${fingerprint}`, { fingerprint, restartMs });
  record("a");
  record("a", 1);
  record("b", 2);
  expect(rate.revertedByStart()).toBeUndefined();
  record("b", 3);
  expect(rate.revertedByStart()).toBe("b");
  // A manual start that overwrites it again changes nothing.
  record("b");
  expect([rate.revertedByStart(), rate.repeated()]).toEqual(["b", false]);
  record("c");
  expect(rate.revertedByStart()).toBeUndefined();
  for (const restartMs of [4, 5]) record("c", restartMs);
  expect(rate.revertedByStart()).toBe("c");
  rate.forget();
  expect(rate.revertedByStart()).toBeUndefined();
});

test("does not mistake a program that writes repeatedly during restarts for the node's startup", () => {
  const { rate } = rateWithClock();
  for (const restartMs of [1, 1, 2, 2, 3, 3]) rate.record("theirs", { fingerprint: "a", restartMs });
  expect([rate.revertedByStart(), rate.repeated()]).toEqual([undefined, true]);
});

test("does not blame the node's startup while a different program keeps writing", () => {
  const { time, rate } = rateWithClock();
  for (const restartMs of [1, 2]) rate.record("theirs", { fingerprint: "a", restartMs });
  expect(rate.revertedByStart()).toBe("a");
  for (let index = 0; index < 60; index += 1) rate.record(`content ${index}`);
  expect([rate.contested(), rate.revertedByStart()]).toEqual([true, undefined]);
  time.nowMs += minuteMs;
  expect(rate.revertedByStart()).toBe("a");
});
