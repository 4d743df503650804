import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sendRequest } from "#daemon/http/send-request.ts";
import { createMetrics } from "#daemon/metrics.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { startEngineProxy } from "#engine-proxy/engine-proxy.ts";
import { engineProxySettings } from "#engine-proxy/settings.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { metricCatalogue } from "../../infra/observability/metric-catalogue.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const name = "gatehouse_engine_proxy_requests_total";
const resources = new AsyncDisposableStack();
let sidecar: ServiceProcess;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-passed-on-"));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const node = resources.use(await createFakeNode());
  sidecar = resources.use(
    await startService("sidecar", {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(directory, "state"),
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "docker",
      GATEHOUSE_SIDECAR_DOCKER_ENGINE: `unix://${join(directory, "proxy.sock")}`,
      GATEHOUSE_SIDECAR_DOCKER_CONTAINER: "gh-node",
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    }),
  );
}, 60_000);
afterAll(() => resources.disposeAsync());

async function startProxy() {
  const env = {
    GATEHOUSE_ENGINE_PROXY_ENGINE: `unix://${join(directory, "no-engine.sock")}`,
    GATEHOUSE_ENGINE_PROXY_CONTAINER: "gh-node",
    GATEHOUSE_ENGINE_PROXY_LISTEN_SOCKET_PATH: join(directory, "proxy.sock"),
  };
  const dependencies = { log: pino({ level: "silent" }), metrics: createMetrics("engine-proxy") };
  const proxy = await startEngineProxy(readSettings(engineProxySettings, { env }), dependencies);
  return { ...dependencies, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() };
}

/** Sends requests that the proxy rejects, or that no engine responds to. */
async function askProxy(path: string): Promise<void> {
  const request = { url: `http://proxy${path}`, socketPath: join(directory, "proxy.sock"), headers: {} };
  (await sendRequest({ ...request, method: "GET", signal: AbortSignal.timeout(generousMs) })).destroy();
}

const samplesOf = (text: string) => text.split("\n").filter((line) => line.startsWith(`${name}{`));

async function scrape(): Promise<string> {
  const response = await fetch(`${sidecar.urls["sidecar"]}/metrics`);
  expect(response.status).toBe(200);
  return response.text();
}

it("a scrape of the sidecar has what the proxy before its engine counted, and is answered without one", async () => {
  const counted = await (async () => {
    await using proxy = await startProxy();
    await askProxy("/info");
    await askProxy("/containers/gh-node/json");
    // Awaited here, because the proxy exits with this block.
    return await until("the sidecar shows what the proxy counted", generousMs, async () => {
      const [text, own] = [await scrape(), await proxy.metrics.metrics()];
      expect(text).toContain(`# HELP ${name} ${metricCatalogue[name].help}\n# TYPE ${name} counter\n`);
      return samplesOf(text).length > 0 && samplesOf(text).join() === samplesOf(own).join()
        ? samplesOf(text)
        : undefined;
    });
  })();
  expect(counted).toContain(`${name}{kind="refused"} 1`);
  expect(counted.join("\n")).toMatch(/\{kind="inspect"\} [1-9]/);
  const text = await scrape();
  expect(samplesOf(text)).toEqual([]);
  expect(text).toContain("gatehouse_time_seconds ");
});
