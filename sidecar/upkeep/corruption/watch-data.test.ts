import { expect, test } from "vitest";
import { observeData } from "./data-observation.ts";
import { watchData, type DataWatch, type WatchDataDependencies, type DataWatchObservations } from "./watch-data.ts";

test("reports a data check that never finishes as failed, and does not start a second one meanwhile", () => {
  const data = observeData();
  const pendingCheck = Promise.withResolvers<void>().promise;
  data.note({ found: { kind: "sound" }, pendingCheck });
  const watch: DataWatch = { lastCheckMs: 1_000 };
  const lookAt = (monotonicMs: number) => {
    const clock = { monotonicMs: () => monotonicMs, wallMs: () => Date.UTC(2026, 0, 1) + monotonicMs };
    watchData(watch, { data } as DataWatchObservations, { clock } as unknown as WatchDataDependencies);
  };
  lookAt(300_000);
  expect(data.now().failed).toBeUndefined();
  lookAt(302_000);
  expect(data.now()).toMatchObject({
    failed: { why: "the check that started at 2026-01-01T00:00:01.000Z has not finished (limit: 300000 ms)" },
    pendingCheck,
  });
});

test("checks the data immediately after a restart, and discards the earlier result", () => {
  const data = observeData();
  data.note({
    found: { kind: "doubt", signs: ["2 starts failed"], missing: [] },
  });
  const watch: DataWatch = { lastCheckMs: 1_000 };
  let running: Promise<void> | undefined = Promise.resolve();
  const seen = { data, restarts: { now: () => ({ running }) } } as unknown as DataWatchObservations;
  const lookAt = (monotonicMs: number) => {
    const none = { get: () => undefined };
    const dependencies = {
      state: { upgrade: none, dataEvidence: none },
      settings: { health: { intervalMs: 1_000 } },
      clock: { monotonicMs: () => monotonicMs, wallMs: () => monotonicMs },
      // The findings of a check don't matter here.
      signal: AbortSignal.abort(),
      wake: () => undefined,
    };
    watchData(watch, seen, dependencies as unknown as WatchDataDependencies);
  };
  lookAt(2_000);
  expect(data.now().pendingCheck).toBeUndefined();
  running = undefined;
  lookAt(2_001);
  expect(data.now().pendingCheck).toBeDefined();
});
