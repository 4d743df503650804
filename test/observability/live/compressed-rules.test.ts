import { expect, test } from "vitest";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import { compressRules } from "./compressed-rules.ts";

const [group] = compressRules(
  [
    {
      name: "a",
      recordings: [{ record: "gatehouse:a:rate1d", expr: "avg_over_time((deriv(a[30m]) >= 0)[1d:15m])" }],
      alerts: [
        {
          name: "GatehouseA",
          expr: "predict_linear(a[6h], 4 * 86400) < 0 and a offset 6h and gatehouse:a:rate1d > 120",
          for: "5m",
          severity: "warning",
          summary: "for 5m",
          description: "[5m]",
        },
      ],
    },
  ],
  60,
);

test("ranges, steps, offsets, days and `for` are divided; names, thresholds and texts are not", () => {
  expect(group?.recordings).toEqual([
    { record: "gatehouse:a:rate1d", expr: "avg_over_time((deriv(a[30000ms]) >= 0)[1440000ms:15000ms])" },
  ]);
  expect(group?.alerts).toEqual([
    expect.objectContaining({
      expr: "predict_linear(a[360000ms], 4 * 1440) < 0 and a offset 360000ms and gatehouse:a:rate1d > 120",
      for: "5000ms",
      summary: "for 5m",
      description: "[5m]",
    }),
  ]);
});

test("no minute, hour or day is left in the expressions of the real rules", () => {
  const compressed = compressRules(ruleGroups, 60).flatMap(({ recordings, alerts }) => [...recordings, ...alerts]);
  const words = compressed.map(({ expr }) => expr.replaceAll(/gatehouse:\w+:\w+/g, "").match(/\b\d+[mhd]\b/g) ?? []);
  expect(words.flat()).toEqual([]);
});
