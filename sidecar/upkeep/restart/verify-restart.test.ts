import { pino } from "pino";
import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import { verifyRestart } from "./verify-restart.ts";

test("an error that no driver foresaw counts as a start that failed, so that the node is rolled back", async () => {
  const { signal } = new AbortController();
  const times = { answersWithinMs: 10, healthyWithinMs: 10, metricsWithinMs: 10 };
  const place = { configPath: "/nowhere/node.conf", configLimitBytes: 100 };
  const ends: unknown[] = [];
  const verified = await verifyRestart(
    () => Promise.reject(new TypeError("not foreseen")),
    { ...times, ...place, isAlreadyCommanded: false, signal },
    {
      clock: systemClock,
      check: () => Promise.resolve({ answers: 0 }),
      lastPush: undefined,
      fileDeadline: createFileDeadline({ withinMs: 1_000, signal }, { clock: systemClock, onBack: () => undefined }),
      starts: { begin: () => Promise.resolve(async (end) => void ends.push(end)) },
      log: pino({ level: "silent" }),
    },
  );
  expect(verified).toEqual({ ok: false, message: "not foreseen" });
  expect(ends).toEqual([verified]);
});
