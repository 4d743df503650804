import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { panels } from "./committed-dashboards.ts";
import { hasPromtool, runPromtool, withoutPromtool } from "../support/prometheus/promtool.ts";

/** The first query of a panel of the overview, with the stack `gh` and all nodes chosen. */
function queryOf(title: string): string {
  const target = panels.find((one) => one.title === title)?.targets[0];
  if (target === undefined) throw new Error(`there is no panel ${title}`);
  return target.expr.replaceAll("$stack", "gh").replaceAll("$instance", ".+");
}

type Expected = Readonly<{ labels: string; value: number }>;

/** Expects these samples of an expression after five minutes of these series, according to promtool. */
function expectSamples(series: Readonly<Record<string, string>>, expr: string, expected: readonly Expected[]): void {
  const test = {
    rule_files: [],
    tests: [
      {
        interval: "1m",
        input_series: Object.entries(series).map(([selector, values]) => ({ series: selector, values })),
        promql_expr_test: [{ expr, eval_time: "5m", exp_samples: expected }],
      },
    ],
  };
  const { status, output } = runPromtool(["test", "rules", "test.yaml"], { "test.yaml": stringify(test) });
  expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
}

const at = (job: string, more = "") => `{job="${job}",instance="i"${more}}`;

describe.skipIf(!hasPromtool)(`the overview's panels${withoutPromtool}`, () => {
  it("show a missing service, and one that never responded, as not scraped", () => {
    const series = {
      [`up${at("gh/sidecar", ',pod="node-0",gatehouse="sidecar"')}`]: "1x9",
      // An operator's own Prometheus adds labels.
      [`gatehouse_build_info${at("gh/sidecar", ',service="sidecar",pod="node-0",gatehouse="sidecar"')}`]: "1x9",
      [`up${at("gh/facilitator")}`]: "1 0x9",
      [`gatehouse_build_info${at("gh/facilitator", ',service="facilitator"')}`]: "1 stale",
      [`up${at("gh/resource-server", ',gatehouse="resource-server"')}`]: "0x9",
      [`up${at("gh2/sidecar", ',gatehouse="sidecar"')}`]: "0x9",
    };
    expectSamples(series, queryOf("Scraped"), [
      { labels: '{job="gh/sidecar",instance="i",service="sidecar"}', value: 1 },
      { labels: '{job="gh/facilitator",instance="i",service="facilitator"}', value: 0 },
      {
        labels: '{job="gh/resource-server",instance="i",service="resource-server"}',
        value: 0,
      },
    ]);
  });

  it("show 0 alerts only if none is firing", () => {
    const expr = queryOf("Firing alerts");
    const firing = {
      'ALERTS{alertname="GatehouseNodeDown",alertstate="firing",severity="critical",job="gh/sidecar"}': "1x9",
    };
    expectSamples(firing, expr, [{ labels: '{alertname="GatehouseNodeDown",severity="critical"}', value: 1 }]);
    expectSamples({}, expr, [{ labels: "{}", value: 0 }]);
  });
});
