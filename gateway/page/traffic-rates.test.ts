import { expect, test } from "vitest";
import type { Traffic } from "#gateway/observe/meter.ts";
import { listCounts, computeRates } from "./traffic-rates.ts";

const call = (
  method: string,
  count: number,
  outcome: Traffic["calls"][number]["outcome"] = "node",
  tier = "public",
) => ({
  method,
  tier,
  outcome,
  count,
});

test("shows calls by method and tier between two samples, with failures and limited calls", () => {
  const previousTraffic: Traffic = {
    calls: [call("eth_call", 100)],
    limited: [{ limit: "rate", tier: "public", count: 5 }],
  };
  const now: Traffic = {
    calls: [call("eth_call", 400), call("eth_call", 60, "limited"), call("eth_getLogs", 30, "failed", "paid")],
    limited: [
      { limit: "rate", tier: "public", count: 65 },
      { limit: "batch", tier: "paid", count: 0 },
    ],
  };
  const rates = computeRates(now, listCounts(previousTraffic), 60_000);
  expect(rates.total).toEqual({ requests: 6.5, errors: 0.5, limited: 1 });
  expect(rates.byMethod).toEqual([
    { method: "eth_call", requests: 6, errors: 0, limited: 1 },
    { method: "eth_getLogs", requests: 0.5, errors: 0.5, limited: 0 },
  ]);
  expect(rates.byTier.map(({ tier }) => tier)).toEqual(["public", "paid"]);
  expect(rates.limited).toEqual([{ tier: "public", limit: "rate", perMinute: 60 }]);
});

test("omits samples without calls, and shows the ten busiest methods, with the rest combined", () => {
  const many = Array.from({ length: 14 }, (_, index) => call(`method_${index}`, 60 * (index + 1)));
  const now: Traffic = { calls: many, limited: [] };
  expect(computeRates(now, listCounts(now), 60_000).byMethod).toEqual([]);
  const { byMethod } = computeRates(now, listCounts({ calls: [], limited: [] }), 60_000);
  expect(byMethod).toHaveLength(11);
  expect(byMethod[0]).toMatchObject({ method: "method_13", requests: 14 });
  expect(byMethod.at(-1)).toEqual({ method: "others", requests: 1 + 2 + 3 + 4, errors: 0, limited: 0 });
});
