import { expect, test } from "vitest";
import { readSince } from "./log-line.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");

test.each([
  ["30s", "2026-01-01T11:59:30.000Z"],
  ["10m", "2026-01-01T11:50:00.000Z"],
  ["2h", "2026-01-01T10:00:00.000Z"],
  ["1d", "2025-12-31T12:00:00.000Z"],
  ["2026-01-01T01:00:00+02:00", "2025-12-31T23:00:00.000Z"],
])("%s is a time", (text, at) => {
  expect(new Date(readSince(text, nowMs) ?? 0).toISOString()).toBe(at);
});

test.each(["", "10", "m", "10 m", "-5m", "yesterday", "1234567m"])("%j is not a duration", (text) => {
  expect(readSince(text, nowMs)).toBeUndefined();
});
