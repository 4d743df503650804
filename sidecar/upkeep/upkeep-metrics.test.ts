import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createUpkeepMetrics } from "./upkeep-metrics.ts";

test("counts restarts and upgrades from zero, so that the first of each shows as an increase", async () => {
  const registry = new Registry();
  const metrics = createUpkeepMetrics(registry);
  const counts = async () =>
    (await registry.metrics()).split("\n").filter((line) => /^gatehouse_node_(?:restarts|upgrades)_total/.test(line));
  expect(await counts()).toEqual([
    'gatehouse_node_restarts_total{cause="configuration"} 0',
    'gatehouse_node_restarts_total{cause="unhealthy"} 0',
    'gatehouse_node_restarts_total{cause="interrupted"} 0',
    'gatehouse_node_restarts_total{cause="unverified"} 0',
    'gatehouse_node_restarts_total{cause="retried"} 0',
    'gatehouse_node_restarts_total{cause="requested"} 0',
    'gatehouse_node_upgrades_total{end="committed"} 0',
    'gatehouse_node_upgrades_total{end="rolled-back"} 0',
    'gatehouse_node_upgrades_total{end="stranded"} 0',
  ]);
  metrics.restarted("unhealthy");
  metrics.upgraded("committed");
  expect(await counts()).toContain('gatehouse_node_restarts_total{cause="unhealthy"} 1');
  expect(await counts()).toContain('gatehouse_node_upgrades_total{end="committed"} 1');
});
