import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { startPingRounds } from "./client-liveness.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("pings every client once in an interval, and few of them at a time", () => {
  using rounds = startPingRounds<{ ping: () => void }>(30_000);
  const pings = new Map<number, number>();
  let atOnce = 0;
  const clients = Array.from({ length: 1_000 }, (_, at) => ({
    ping: () => {
      pings.set(at, (pings.get(at) ?? 0) + 1);
      atOnce += 1;
    },
  }));
  for (const client of clients) rounds.add(client);
  let most = 0;
  for (let passedMs = 0; passedMs < 30_000; passedMs += 100) {
    atOnce = 0;
    vi.advanceTimersByTime(100);
    most = Math.max(most, atOnce);
  }
  expect([pings.size, Math.max(...pings.values())]).toEqual([1_000, 1]);
  expect(most).toBeLessThan(40);
  for (const client of clients.slice(1)) rounds.remove(client);
  vi.advanceTimersByTime(30_000);
  expect([pings.get(0), pings.get(1)]).toEqual([2, 1]);
});

it("pings all at once when the interval is too short to be divided", () => {
  using rounds = startPingRounds<{ ping: () => void }>(50);
  const ping = vi.fn();
  for (let clients = 0; clients < 3; clients += 1) rounds.add({ ping });
  vi.advanceTimersByTime(50);
  expect(ping).toHaveBeenCalledTimes(3);
});
