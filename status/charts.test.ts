import { expect, test } from "vitest";
import { createSeries, type SeriesPoint } from "./charts.ts";

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** The value, at a given time, of a line through the points. */
function drawnAt(points: readonly SeriesPoint[], atMs: number): number {
  const next = points.findIndex((point) => point.atMs >= atMs);
  const [before, after] = [points[Math.max(0, next - 1)]!, points[next]!];
  if (after.atMs === before.atMs) return after.value;
  return before.value + ((after.value - before.value) * (atMs - before.atMs)) / (after.atMs - before.atMs);
}

test("draws a stall as a flat line from the moment it began", () => {
  const series = createSeries({ pointsKept: 120, spanMs: 24 * hourMs });
  const truth = (atMs: number) => Math.min(atMs, 3 * hourMs) + Math.max(0, atMs - 5 * hourMs);
  for (let atMs = 0; atMs <= 6 * hourMs; atMs += minuteMs / 2) series.add({ atMs, value: truth(atMs) });
  const points = series.list();
  expect(points.length).toBe(120);
  for (let atMs = 0; atMs <= 6 * hourMs; atMs += minuteMs) expect(drawnAt(points, atMs)).toBe(truth(atMs));
});

test("draws a stall that has only just begun", () => {
  const series = createSeries({ pointsKept: 120, spanMs: 24 * hourMs });
  for (let atMs = 0; atMs <= 12 * minuteMs; atMs += minuteMs / 2) {
    series.add({ atMs, value: Math.min(atMs, 6 * minuteMs) });
  }
  expect(drawnAt(series.list(), 7 * minuteMs)).toBe(6 * minuteMs);
  expect(drawnAt(series.list(), 12 * minuteMs)).toBe(6 * minuteMs);
});

test("covers its full time span and always includes the newest value", () => {
  const series = createSeries({ pointsKept: 20, spanMs: 10 * minuteMs });
  for (let atMs = 0; atMs <= hourMs; atMs += 1_000) {
    series.add({ atMs, value: atMs % 7_000 });
    expect(series.list().at(-1)).toEqual({ atMs, value: atMs % 7_000 });
    expect(series.list().length).toBeLessThanOrEqual(20);
  }
  expect(series.list()[0]!.atMs).toBeGreaterThanOrEqual(50 * minuteMs);
});

test("drops later values after the clock moves back an hour", () => {
  const series = createSeries({ pointsKept: 10, spanMs: 24 * hourMs });
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
