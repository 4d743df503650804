import { expect, test } from "vitest";
import { makeContext } from "../../testing/upkeep-context.ts";
import { watchData, type DataWatch } from "./watch-data.ts";

test("checks the data immediately after a restart, and discards the earlier result", () => {
  const { data } = makeContext();
  data.note({ found: { kind: "doubt", sign: "2 starts failed", missing: [] } });
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
