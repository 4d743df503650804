import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startHeadsSocket } from "../support/node/heads-socket.ts";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { waitUntilSettled } from "#sidecar/testing/sidecar-status.ts";
import { startOwnedNode } from "../support/node/owned-node.ts";
import { createTemporaryFolder } from "../support/payments/shop.ts";
import {
  hasPrometheus,
  listFiringAlerts,
  startPrometheus,
  withoutPrometheus,
  type RunningPrometheus,
} from "../support/prometheus/prometheus.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";
import { ruleGroups } from "./committed-rules.ts";
import { compressRules } from "./compressed-rules.ts";

/** At this scale, three minutes of a rule are a second and a half. */
const scale = 120;
const intervalMs = 500;
/** Four Prometheus evaluations, during which the alert must keep firing. */
const steadyMs = 4 * intervalMs;
const firesWithinMs = 90_000;
const quietWithinMs = 120_000;

describe.skipIf(!hasPrometheus)(`a live Prometheus${withoutPrometheus}`, () => {
  const resources = new AsyncDisposableStack();
  let node: FakeNode;
  let prometheus: RunningPrometheus;
  let sidecar: ServiceProcess;
  let startSidecar: () => Promise<void>;

  beforeAll(async () => {
    node = resources.use(await startOwnedNode("node-7"));
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
    startSidecar = async () => void (sidecar = await startService("sidecar", env));
    await startSidecar();
    resources.defer(async () => void (await sidecar.end("SIGTERM")));
    prometheus = resources.use(
      await startPrometheus({ rules: compressRules(ruleGroups, scale), intervalMs, lookbackMs: 5 * intervalMs }),
    );
    await prometheus.scrape({ sidecar: [`127.0.0.1:${port}`] });
    await waitUntilSettled(sidecar.urls["sidecar"]);
    await until(
      "Prometheus sees the node",
      generousMs,
      async () => (await prometheus.query("gatehouse_node_up == 1"))[0],
    );
  });
  afterAll(() => resources.disposeAsync());

  it.each([
    {
      what: "the node is stopped",
      alert: "GatehouseNodeDown",
      besides: ["GatehouseConditionFalse"],
      strike: () => node.stop(),
      repair: () => node.start(),
    },
    {
      what: "the sidecar is killed",
      alert: "GatehouseServiceDown",
      besides: [],
      strike: () => sidecar.end("SIGKILL"),
      repair: () => startSidecar(),
    },
  ])(
    "fires $alert while $what, resolves it afterwards, and fires no other alert",
    async ({ what, alert, besides, strike, repair }) => {
      const seen = new Set<string>();
      const isFiring = async () => {
        const firingAlerts = await listFiringAlerts(prometheus);
        for (const name of firingAlerts) seen.add(name);
        return firingAlerts.includes(alert);
      };
      // An alert still pending from the previous fault would fire during this one.
      await until(`no alert is pending before: ${what}`, quietWithinMs, async () => {
        return (await prometheus.alerts()).length === 0;
      });
      await strike();
      await until(`${alert} fires`, firesWithinMs, isFiring);
      const steadyUntil = performance.now() + steadyMs;
      while (performance.now() < steadyUntil) {
        await sleep(intervalMs / 2);
        expect(await isFiring()).toBe(true);
      }
      await repair();
      await until(`${alert} is resolved`, quietWithinMs, async () => !(await isFiring()));
      await until("nothing fires", quietWithinMs, async () => {
        await isFiring();
        return (await listFiringAlerts(prometheus)).length === 0;
      });
      expect([...seen].filter((name) => name !== alert && !besides.some((one) => one === name))).toEqual([]);
    },
    // Longer than the waits inside the test, so that the error reports which wait failed.
    480_000,
  );
});
