import { expect, it } from "vitest";
import { createBackoff } from "./backoff.ts";

const waits = (random: () => number, count: number, options = { initialMs: 500, maxMs: 30_000 }) => {
  const backoff = createBackoff(options, { random });
  const all = Array.from({ length: count }, backoff.nextMs);
  backoff.reset();
  return { all, afterReset: backoff.nextMs() };
};

it("doubles the wait up to its most, and begins anew after a success", () => {
  const { all, afterReset } = waits(() => 0, 9);
  expect(all).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  expect(afterReset).toBe(500);
});

it("takes away up to half of it by chance", () => {
  expect(waits(() => 0.5, 3).all).toEqual([375, 750, 1_500]);
  for (const wait of waits(Math.random, 100).all.slice(6)) {
    expect(wait).toBeGreaterThan(15_000);
    expect(wait).toBeLessThanOrEqual(30_000);
  }
});

it("never waits longer than the most, also when the first is longer", () => {
  expect(waits(() => 0, 2, { initialMs: 5_000, maxMs: 1_000 }).all).toEqual([1_000, 1_000]);
});
