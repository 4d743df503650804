import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { isOnPath, startRealPushgateway } from "#devnet/pushgateway/real-pushgateway.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startService } from "../support/service-process.ts";

const program = "prometheus-pushgateway";
const entryExists = await isOnPath(program);
const skipped = entryExists ? "" : ` (skipped: ${program} is not on PATH)`;
const height = 'chain_height{instance="",job="node"} 42';

async function startPushgateway(env: Readonly<Record<string, string>> = {}) {
  const [port = 0] = await findFreePorts(1);
  const gateway = await startService("pushgateway", {
    GATEHOUSE_PUSHGATEWAY_LISTEN_PORT: String(port),
    ...env,
  });
  const url = gateway.urls["pushgateway"] ?? "";
  const read = async (path: string) => (await fetch(url + path, { signal: AbortSignal.timeout(10_000) })).text();
  return { ...gateway, url, metrics: () => read("/metrics"), status: () => read("/api/v1/status") };
}

const push = (url: string) => fetch(`${url}/metrics/job/node`, { method: "PUT", body: "chain_height 42\n" });

describe.skipIf(!entryExists)(`the real Pushgateway, run by gatehouse${skipped}`, () => {
  test("accepts a node's metrics and keeps them across a restart in its persistence file", async () => {
    const directory = await makeTestDirectory();
    const env = { GATEHOUSE_PUSHGATEWAY_PERSISTENCE_FILE: join(directory, "pushgateway.data") };
    {
      await using first = await startPushgateway(env);
      expect((await push(first.url)).status).toBe(200);
      expect(await first.metrics()).toContain(height);
    }
    await using secondPushgateway = await startPushgateway(env);
    expect(await secondPushgateway.metrics()).toContain(height);
  });

  test("persists nothing without a persistence file", async () => {
    await using gateway = await startPushgateway();
    const { data } = JSON.parse(await gateway.status()) as { data: { flags: Record<string, string> } };
    expect(data.flags["persistence.file"]).toBe("");
    expect(await gateway.metrics()).not.toContain("push_time_seconds");
  });
});

test("passes no service's secrets to the Pushgateway's environment", async () => {
  const directory = await makeTestDirectory();
  const place = join(directory, "environment");
  const entry = join(directory, "program");
  await writeFile(entry, `#!/bin/sh\nenv >>${place}\nexit 3\n`, { mode: 0o700 });
  vi.stubEnv("GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN", "planted-token");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await isOnPath(entry)).toBe(false);
  const [port = 0] = await findFreePorts(1);
  const startingPushgateway = startRealPushgateway({
    program: entry,
    host: "127.0.0.1",
    port,
    persistenceFile: undefined,
  });
  await expect(startingPushgateway).rejects.toThrow("is not ready");
  const environments = await readFile(place, "utf8");
  expect(environments.match(/^PATH=/gm)).toHaveLength(2);
  expect(environments).not.toContain("planted");
});
