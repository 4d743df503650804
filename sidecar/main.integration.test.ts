import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { readSettings } from "#daemon/settings.ts";
import { sidecar } from "./main.ts";
import { sidecarSettings } from "./settings.ts";
import { createFakeNode } from "./testing/fake-node.ts";
import { until } from "./testing/until.ts";

test("the sidecar tells how the node is: probes from state, status as JSON, a page for a person", async () => {
  await using node = await createFakeNode();
  const stateDirectory = await mkdtemp(join(tmpdir(), "gatehouse-sidecar-"));
  const settings = readSettings(sidecarSettings, {
    env: {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    },
  });
  const resources = new AsyncDisposableStack();
  const stopping = new AbortController();
  try {
    const context = { log: pino({ level: "silent" }), metrics: new Registry(), resources, signal: stopping.signal };
    const { urls } = await sidecar.start(settings, context);
    const at = (path: string) => fetch(`${urls["sidecar"]}${path}`);
    await until(
      async () => (await at("/startupz")).status,
      (status) => status === 200,
    );
    expect((await at("/livez")).status).toBe(200);
    // The node was never started, so it is not fit for traffic.
    expect((await at("/readyz")).status).toBe(503);
    const status = (await (await at("/status")).json()) as { right: boolean; conditions: { type: string }[] };
    expect(status.right).toBe(false);
    expect(status.conditions.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["ConfigCurrent", "RpcAnswering"]),
    );
    const page = await at("/");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).toContain('<html lang="en">');
    expect((await at("/page/page.js")).headers.get("content-type")).toContain("text/javascript");
    expect(await (await at("/metrics")).text()).toContain(
      'gatehouse_condition{type="ConfigCurrent",reason="AsDesired"} 1',
    );
  } finally {
    stopping.abort();
    await resources.disposeAsync();
    await rm(stateDirectory, { recursive: true });
  }
});
