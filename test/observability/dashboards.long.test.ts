import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import {
  hasPrometheus,
  listFiringAlerts,
  startPrometheus,
  withoutPrometheus,
  type RunningPrometheus,
} from "../support/prometheus/prometheus.ts";
import { spawnStack } from "../support/running-stack.ts";
import { panels } from "./committed-dashboards.ts";
import { ruleGroups } from "./committed-rules.ts";
import { compressRules } from "./compressed-rules.ts";
import { startLoad } from "./load.ts";

/** A minute of the rules takes a second. */
const scale = 60;
const stackDeadlineMs = 120_000;
/** Allows fewer calls than a busy machine can send. */
const publicTier = { ...limitlessTier, requestsPerSecond: 10, requestBurst: 40 };

/** Intervals short enough for a test that takes minutes. */
const constants = {
  sidecar: {
    "health.webSocketIntervalMs": 1_000,
    "prune.intervalMs": 1_000,
    "prune.stalledAfterMs": 5_000,
    "pushgateway.staleAfterMs": 6_000,
  },
  facilitator: { "ledger.compareIntervalMs": 1_000 },
};

/**
 * Queries of the panels that have data without special settings or faults, with all stacks and nodes selected, and the range that Grafana
 * chooses.
 */
const queries = panels
  .filter(({ description }) => !/ Needs .+\.$/.test(description))
  .flatMap(({ dashboard, title, targets }) =>
    targets.map(({ expr }) => {
      const filled = expr.replaceAll("$__rate_interval", "15s").replaceAll(/\$(?:stack|instance)\b/g, ".+");
      return [`${dashboard}, ${title}`, filled] as const;
    }),
  );

describe.skipIf(!hasPrometheus)(`a Prometheus that scrapes a stack under load${withoutPrometheus}`, () => {
  const resources = new AsyncDisposableStack();
  let prometheus: RunningPrometheus;

  beforeAll(async () => {
    const [internalPort = 0] = await findFreePorts(1);
    prometheus = resources.use(
      await startPrometheus({
        rules: compressRules(ruleGroups, scale),
        intervalMs: 1_000,
        lookbackMs: 300_000 / scale,
      }),
    );
    const stack = resources.use(
      await spawnStack(
        [],
        {
          GATEHOUSE_SIDECAR_GATEWAY_INTERNAL_ENABLED: "true",
          GATEHOUSE_SIDECAR_GATEWAY_INTERNAL_PORT: String(internalPort),
          GATEHOUSE_SIDECAR_GATEWAY_TIERS: JSON.stringify({ public: publicTier, internal: limitlessTier }),
        },
        constants,
      ),
    );
    await until("the stack is up and the first request is paid", stackDeadlineMs, () => {
      if (stack.process.exitCode !== null) throw new Error(`the stack ended: ${stack.output()}`);
      return stack.output().includes("Ctrl-C stops everything.");
    });
    const { sidecar, facilitatorOperations, resourceServerOperations, gateway } = stack.ports;
    await prometheus.scrape({
      sidecar: [`127.0.0.1:${sidecar}`],
      facilitator: [`127.0.0.1:${facilitatorOperations}`],
      "resource-server": [`127.0.0.1:${resourceServerOperations}`],
    });
    resources.use(startLoad({ url: `http://127.0.0.1:${internalPort}`, callsPerSecond: 10 }));
    // More calls than the public tier allows, so that a limit rejects some.
    await using _ = startLoad({ url: `http://127.0.0.1:${gateway}`, callsPerSecond: 100, method: "eth_chainId" });
    await until("a caller hits a limit", generousMs, async () => {
      return (await prometheus.query("gatehouse_gateway_limited_total > 0")).length > 0;
    });
  }, 180_000);
  afterAll(() => resources.disposeAsync(), 60_000);

  it.each(queries)("has data for %s", async (_, expr) => {
    const samples = await until(`data for ${expr}`, generousMs, async () => {
      const found = await prometheus.query(expr);
      return found.length > 0 && found;
    });
    expect(samples.length).toBeGreaterThan(0);
  });

  it("fires no alert", async () => {
    expect(await listFiringAlerts(prometheus)).toEqual([]);
  });
});
