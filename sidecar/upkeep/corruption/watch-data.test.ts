import { expect, test } from "vitest";
import { observeData } from "./data-observation.ts";
import { watchData, type DataWatch, type WatchDataDependencies, type WatchDataSeen } from "./watch-data.ts";

test("a look at the data that does not end is no word about now, and no other begins alongside it", () => {
  const data = observeData(true);
  const looking = Promise.withResolvers<void>().promise;
  data.note({ found: { judgement: { kind: "sound" }, next: undefined }, looking });
  const watch: DataWatch = { lookedMs: 1_000 };
  const lookAt = (monotonicMs: number) => {
    const clock = { monotonicMs: () => monotonicMs, wallMs: () => Date.UTC(2026, 0, 1) + monotonicMs };
    watchData(watch, { data } as WatchDataSeen, { clock } as unknown as WatchDataDependencies);
  };
  lookAt(300_000);
  expect(data.now().failed).toBeUndefined();
  lookAt(302_000);
  expect(data.now()).toMatchObject({
    failed: { why: "the look that began at 2026-01-01T00:00:01.000Z has not ended (allowed: 300000 ms)" },
    looking,
  });
});
