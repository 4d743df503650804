import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startHeadsSocket } from "../../support/node/heads-socket.ts";
import { buildEnvironment, startOwnedNode, waitUntilSettled } from "../../support/node/owned-node.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createTemporaryFolder } from "../../support/payments/shop.ts";
import { compressRules } from "./compressed-rules.ts";
import { listFiringAlerts, seeFault, type LiveFault } from "./live-fault.ts";
import {
  hasPrometheus,
  startPrometheus,
  withoutPrometheus,
  type RunningPrometheus,
} from "../../support/prometheus/prometheus.ts";

/** At this scale, three minutes of a rule are a second and a half. */
const scale = 120;
const intervalMs = 500;
/** Four of Prometheus's evaluations. */
const steadyMs = 4 * intervalMs;

/** A sidecar in its own process next to a node, scraped by Prometheus. */
type WatchedSidecar = Readonly<{
  node: FakeNode;
  prometheus: RunningPrometheus;
  sidecar: () => ServiceProcess;
  startSidecar: () => Promise<void>;
}>;

const faults: readonly LiveFault<WatchedSidecar>[] = [
  {
    alert: "GatehouseNodeDown",
    what: "the node is stopped",
    steadyMs,
    besides: ["GatehouseConditionFalse"],
    strike: async ({ node }) => {
      await node.stop();
      return { [Symbol.asyncDispose]: () => node.start() };
    },
  },
  {
    alert: "GatehouseServiceDown",
    what: "the sidecar is killed",
    steadyMs,
    strike: async ({ sidecar, startSidecar }) => {
      await sidecar().end("SIGKILL");
      return { [Symbol.asyncDispose]: startSidecar };
    },
  },
];

describe.skipIf(!hasPrometheus)(`a live Prometheus${withoutPrometheus}`, () => {
  const resources = new AsyncDisposableStack();
  let watched: WatchedSidecar;

  beforeAll(async () => {
    const node = resources.use(await startOwnedNode("node-7"));
    const heads = resources.use(await startHeadsSocket());
    const state = resources.use(await createTemporaryFolder());
    const [port = 0, gatewayPort = 0] = await findFreePorts(2);
    const env = buildEnvironment(node, {
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: state.path,
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: heads.url,
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_LISTEN_PORT: String(port),
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: String(gatewayPort),
    });
    let running = await startService("sidecar", env);
    resources.defer(async () => void (await running.end("SIGTERM")));
    const prometheus = resources.use(
      await startPrometheus({ rules: compressRules(ruleGroups, scale), intervalMs, lookbackMs: 5 * intervalMs }),
    );
    await prometheus.scrape({ sidecar: [`127.0.0.1:${port}`] });
    await waitUntilSettled(running.urls["sidecar"]);
    await until(
      "Prometheus sees the node",
      generousMs,
      async () => (await prometheus.query("gatehouse_node_up == 1"))[0],
    );
    watched = {
      node,
      prometheus,
      sidecar: () => running,
      startSidecar: async () => {
        running = await startService("sidecar", env);
      },
    };
  });
  afterAll(() => resources.disposeAsync());

  it.each(faults.map((fault) => [fault.what, fault.alert, fault] as const))(
    "%s: it shows %s firing, and resolved when that is fixed",
    async (_, alert, fault) => {
      expect(await seeFault(fault, watched)).toMatchObject({ alert });
      expect(await listFiringAlerts(watched.prometheus)).toEqual(new Map());
    },
    // Longer than the waits within it, so that an error names the failed wait.
    480_000,
  );
});
