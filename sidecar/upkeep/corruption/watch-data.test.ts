import { expect, test } from "vitest";
import { makeContext } from "../../testing/upkeep-context.ts";
import { watchData, type DataWatch } from "./watch-data.ts";

test("reports a data check that never finishes as failed, and does not start a second one", () => {
  const { data } = makeContext();
  const pendingCheck = Promise.withResolvers<void>().promise;
  data.note({ found: { kind: "sound" }, pendingCheck });
  const watch: DataWatch = { lastCheckMs: 1_000 };
  const check = (monotonicMs: number) => {
    const clock = { monotonicMs: () => monotonicMs, wallMs: () => Date.UTC(2026, 0, 1) + monotonicMs };
    watchData(watch, makeContext({ data, clock }));
  };
  check(300_000);
  expect(data.now().failed).toBeUndefined();
  check(302_000);
  expect(data.now()).toMatchObject({
    failed: { why: "the check that started at 2026-01-01T00:00:01.000Z has not finished (limit: 300000 ms)" },
    pendingCheck,
  });
});

test("checks the data immediately after a restart, and discards the earlier result", () => {
  const { data } = makeContext();
  data.note({ found: { kind: "doubt", signs: ["2 starts failed"], missing: [] } });
  const watch: DataWatch = { lastCheckMs: 1_000 };
  let isRestarting = true;
  const check = (monotonicMs: number) => {
    const none = { get: () => undefined };
    const context = makeContext({
      data,
      isRestarting: () => isRestarting,
      state: { upgrade: none, dataEvidence: none },
      settings: { health: { intervalMs: 1_000 } },
      clock: { monotonicMs: () => monotonicMs, wallMs: () => monotonicMs },
      // A check's findings don't matter here.
      signal: AbortSignal.abort(),
    });
    watchData(watch, context);
  };
  check(2_000);
  expect(data.now().pendingCheck).toBeUndefined();
  isRestarting = false;
  check(2_001);
  expect(data.now().pendingCheck).toBeDefined();
});
