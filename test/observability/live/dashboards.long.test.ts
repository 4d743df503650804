import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dashboards } from "#infra/observability/dashboards/all-dashboards.ts";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { compressRules } from "./compressed-rules.ts";
import { listFiringAlerts } from "./live-fault.ts";
import { startLoad } from "./load.ts";
import { hasPrometheus, withoutPrometheus } from "../../support/prometheus/prometheus.ts";
import { startWatchedStack, type WatchedStack } from "./watched-stack.ts";

const scale = 60;

const queries = dashboards.flatMap(({ title, rows }) =>
  rows.flatMap(({ panels }) =>
    panels
      .filter(({ onlyWith }) => onlyWith === undefined)
      .flatMap((panel) => panel.queries.map(({ expr }) => [`${title}, ${panel.title}`, expr] as const)),
  ),
);

/** The expression with all stacks and nodes selected, and the range that Grafana chooses. */
function filled(expr: string): string {
  return expr.replaceAll("$__rate_interval", "15s").replaceAll(/\$(?:stack|instance)\b/g, ".+");
}

describe.skipIf(!hasPrometheus)(`a Prometheus that scrapes a stack under load${withoutPrometheus}`, () => {
  const resources = new AsyncDisposableStack();
  let stack: WatchedStack;

  beforeAll(async () => {
    stack = resources.use(await startWatchedStack({ rules: compressRules(ruleGroups, scale), scale }));
    const { internalUrl, gatewayUrl } = stack;
    resources.use(startLoad({ url: internalUrl, callsPerSecond: 10 }));
    // More than the public tier allows, so that a limit rejects some.
    await using _ = startLoad({ url: gatewayUrl, callsPerSecond: 600, method: "eth_chainId" });
    await until("a caller meets a limit", generousMs, async () => {
      return (await stack.prometheus.query("gatehouse_gateway_limited_total > 0")).length > 0;
    });
  }, 180_000);
  afterAll(() => resources.disposeAsync(), 60_000);

  it.each(queries)("has data for %s", async (_, expr) => {
    const samples = await until(`data for ${expr}`, generousMs, async () => {
      const found = await stack.prometheus.query(filled(expr));
      return found.length > 0 && found;
    });
    expect(samples.length).toBeGreaterThan(0);
  });

  it("fires no alert meanwhile", async () => {
    expect(await listFiringAlerts(stack.prometheus)).toEqual(new Map());
  });
});
