import { expect, test } from "vitest";
import { createSeries } from "./series.ts";

const hourMs = 3_600_000;

test("a series keeps its last values, an interval apart, and always the newest", () => {
  const series = createSeries({ pointsKept: 3, intervalMs: 10 });
  for (const atMs of [0, 10, 12, 14, 20, 30, 41]) series.add({ atMs, value: atMs });
  expect(series.list().map(({ atMs }) => atMs)).toEqual([20, 30, 41]);
});

test("after the clock went back an hour, the chart starts from the new time, and goes on", () => {
  const series = createSeries({ pointsKept: 10, intervalMs: 10 });
  for (const atMs of [2, 3, 4]) series.add({ atMs: atMs * hourMs, value: atMs });
  series.add({ atMs: 3 * hourMs + 1, value: 5 });
  series.add({ atMs: 3 * hourMs + 20, value: 6 });
  expect(series.list()).toEqual([
    { atMs: 2 * hourMs, value: 2 },
    { atMs: 3 * hourMs, value: 3 },
    { atMs: 3 * hourMs + 1, value: 5 },
    { atMs: 3 * hourMs + 20, value: 6 },
  ]);
});
