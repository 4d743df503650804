import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pino } from "pino";
import { createMetrics } from "#daemon/metrics.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { metricCatalogue, metricsByPart } from "./metric-catalogue.ts";
import { startEngineProxy } from "#engine-proxy/engine-proxy.ts";
import { engineProxySettings } from "#engine-proxy/settings.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { openMarket, findOperationsUrl, createTemporaryFolder, findUrl } from "../support/payments/shop.ts";
import { createLedgerFolder, startFacilitatorInProcess } from "../support/facilitator/running-facilitator.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { hasPromtool, runPromtool, withoutPromtool } from "../support/prometheus/promtool.ts";

/** Metrics that a sidecar has only for a claim on Kubernetes. */
const volumeMetrics: readonly string[] = Object.keys(metricsByPart.volume);

const resources = new AsyncDisposableStack();
/** Responses of each service at `/metrics`. */
const scrapes = new Map<string, string>();

async function scrape(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(200);
  return response.text();
}

/** Gatehouse's own metrics by name, with their type, their help and their samples' labels. */
function registered(text: string) {
  const types = [...text.matchAll(/^# TYPE (gatehouse_\w+) (\w+)$/gm)];
  return types.map(([, name = "", type = ""]) => {
    const samples = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, "gm"));
    const labels = new Set(
      [...samples].flatMap(([, inside = ""]) => [...inside.matchAll(/(\w+)="/g)].map(([, label = ""]) => label)),
    );
    labels.delete("le");
    const help = new RegExp(`^# HELP ${name} (.*)$`, "m").exec(text)?.[1];
    return { name, type, help, labels: [...labels].toSorted() };
  });
}

beforeAll(async () => {
  const market = resources.use(await openMarket());
  const folder = resources.use(await createTemporaryFolder());
  const shop = resources.use(await market.openShopInProcess(folder.path));
  await fetch(`${findUrl(shop)}/data`);
  scrapes.set("resource-server", await scrape(findOperationsUrl(shop)));

  const ledger = resources.use(await createLedgerFolder());
  const place = { rpcUrl: market.chain.url, token: market.chain.token, ledgerPath: ledger.path("metrics") };
  const facilitator = resources.use(await startFacilitatorInProcess(place));
  await facilitator.verify({});
  scrapes.set("facilitator", await scrape(facilitator.operationsUrl));

  const node = resources.use(await createFakeNode());
  await node.start();
  const state = await mkdtemp(join(tmpdir(), "gatehouse-metrics-"));
  resources.defer(() => rm(state, { recursive: true, force: true }));
  const sidecar = resources.use(
    await startService("sidecar", {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: state,
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_SIDECAR_LAG_REFERENCES: JSON.stringify([node.httpUrl]),
    }),
  );
  await until("the sidecar has completed a pass", generousMs, async () => {
    const text = await scrape(sidecar.urls["sidecar"] ?? "");
    scrapes.set("sidecar", text);
    return /^gatehouse_reconciles_total [1-9]/m.test(text);
  });

  const metrics = createMetrics("engine-proxy");
  const settings = readSettings(engineProxySettings, {
    env: {
      GATEHOUSE_ENGINE_PROXY_CONTAINER: "node",
      GATEHOUSE_ENGINE_PROXY_LISTEN_SOCKET_PATH: join(state, "proxy.sock"),
    },
  });
  resources.use(await startEngineProxy(settings, { log: pino({ level: "silent" }), metrics }));
  scrapes.set("engine-proxy", await metrics.metrics());
});

afterAll(() => resources.disposeAsync());

describe("the metric catalogue", () => {
  it("has the type, help and labels of each metric of the running services", () => {
    for (const text of scrapes.values()) {
      for (const { name, type, help, labels } of registered(text)) {
        const known = metricCatalogue[name];
        expect({ name, type: known?.type, help: known?.help }).toEqual({ name, type, help });
        if (labels.length > 0)
          expect({ name, labels: [...(known?.labelNames ?? [])].toSorted() }).toEqual({ name, labels });
      }
    }
  });

  it("has no metric that no service exposes", () => {
    const exposed = new Set([...scrapes.values()].flatMap((text) => registered(text).map(({ name }) => name)));
    const missing = Object.keys(metricCatalogue).filter((name) => !exposed.has(name));
    // These metrics exist only with a volume claim on Kubernetes; the test of the volume's growth reads them.
    expect(missing).toEqual([...volumeMetrics]);
  });
});

it.skipIf(!hasPromtool).each(["sidecar", "facilitator", "resource-server", "engine-proxy"])(
  `promtool accepts the metrics of the %s${withoutPromtool}`,
  (service) => {
    const { status, output } = runPromtool(["check", "metrics"], {}, scrapes.get(service) ?? "");
    expect([status, output]).toEqual([0, ""]);
  },
);
