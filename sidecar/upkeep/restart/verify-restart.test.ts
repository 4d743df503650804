import { pino } from "pino";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { verifyRestart } from "./verify-restart.ts";

const restart = () => Promise.reject(new TypeError("not foreseen"));

test("counts an unexpected driver error as a failed start, and so rolls the node back", async () => {
  const failedStarts: unknown[] = [];
  const dataEvidence = { get: () => undefined, set: (value: unknown) => void failedStarts.push(value) };
  const context = {
    settings: { restart: { answersWithinMs: 10, healthyWithinMs: 10, metricsWithinMs: 10 } },
    place: { read: () => Promise.resolve({ ok: false, problem: { reason: "FileMissing", message: "" } }) },
    state: { dataEvidence },
    clock: systemClock,
    health: { check: () => Promise.resolve({ answers: 0 }) },
    restarts: { note: () => undefined },
    lastPush: undefined,
    log: pino({ level: "silent" }),
    wake: () => undefined,
    signal: new AbortController().signal,
  } as unknown as Parameters<typeof verifyRestart>[3];
  expect(await verifyRestart(restart, false, () => Promise.resolve(undefined), context)).toEqual({
    ok: false,
    message: "not foreseen",
  });
  expect(failedStarts).toMatchObject([{ failedStarts: [{ message: "not foreseen" }] }]);
});
