import { expect, test } from "vitest";
import { createCharts } from "#status/charts.ts";
import { createHistory, sampleEveryMs } from "./history.ts";

test("keeps 121 samples per range, and counts calls over the last minute, however long it runs", async () => {
  let nowMs = 0;
  let count = 0;
  const history = createHistory({
    clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
    health: () => ({ height: 1, latencyMs: 1, answeredAtMs: nowMs, answers: 1 }),
    charts: createCharts(),
    traffic: async () => ({
      calls: [{ method: "eth_call", tier: "public", outcome: "node", count }],
      limited: [],
    }),
    pruningOldAfterMs: 1_000,
  });
  const samplesInTwoDays = (2 * 86_400_000) / sampleEveryMs;
  for (let nextSample = 0; nextSample < samplesInTwoDays; nextSample += 1) {
    nowMs += sampleEveryMs;
    count += 5;
    await history.sample();
  }
  expect(history.ranges().map(({ name, columns }) => [name, columns.rpcMs.length])).toEqual([
    ["10 minutes", 121],
    ["24 hours", 121],
  ]);
  expect(history.traffic()).toMatchObject({ overMs: 60_000, total: { requests: 1 } });
});
