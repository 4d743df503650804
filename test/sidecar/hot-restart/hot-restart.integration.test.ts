import { hash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { callRpc } from "../../support/call-rpc.ts";
import { startSizedNode, type SizedNode } from "../../support/node/sized-node.ts";
import { isLong, takeSlice } from "../../support/run-size.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startCallers } from "../../support/gateway/callers.ts";
import { readSettingsInForce, waitUntilInForce, waitUntilRejected } from "../../support/settings-in-force.ts";
import { listChildren } from "../../support/list-children.ts";

const controlToken = "control-token-of-the-test-000000000001";
const resources = new AsyncDisposableStack();
let node: SizedNode;
const folder = makeSharedDirectory();
let path: string;

beforeAll(async () => {
  path = join(folder, "settings.json5");
  await writeFile(join(folder, "control-token"), controlToken);
  node = resources.use(await startSizedNode());
});
afterAll(() => resources.disposeAsync());

type Tree = Readonly<Record<string, object>>;

/** Formats the settings file, including the settings that a change adds. */
function settingsWith({ gateway, ...more }: Tree): string {
  const tiers = { public: { ...limitlessTier, webSockets: 1_000 }, internal: limitlessTier };
  return JSON.stringify({
    node: { workspace: node.workspace, httpUrl: node.httpUrl, webSocketUrl: node.webSocketUrl, chainId: 1672 },
    upkeep: { mode: "enforce", stateDirectory: join(folder, "state") },
    restart: { driver: "none" },
    listen: { port: 0 },
    monitor: { pushAddress: "127.0.0.1" },
    gateway: { public: { port: 0 }, tiers, ...gateway },
    ...more,
  });
}

async function startSidecar(): Promise<ServiceProcess> {
  const secret = { GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN_FILE: join(folder, "control-token") };
  const state = { XDG_STATE_HOME: join(folder, "home") };
  return startService(
    "sidecar",
    { GATEHOUSE_SIDECAR_SETTINGS_PATH: path, ...secret, ...state },
    { args: ["--hot-restart"] },
  );
}

/** The process that manages the node. */
async function readHolder(): Promise<number> {
  return (JSON.parse(await readFile(join(folder, "state/.sidecar.lock.json"), "utf8")) as { pid: number }).pid;
}

const isReady = async (sidecar: ServiceProcess) => (await fetch(`${sidecar.urls["sidecar"]}/readyz`)).status === 200;

const readPrometheus = async (sidecar: ServiceProcess) => (await fetch(`${sidecar.urls["sidecar"]}/metrics`)).text();

async function askGateway(sidecar: ServiceProcess): Promise<unknown> {
  return (await callRpc(sidecar.urls["gateway"] ?? "", "eth_blockNumber", [])).result;
}

/** Returns the control API's status for a client with this token. */
async function readControlStatus(sidecar: ServiceProcess, token: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  return (await fetch(`${sidecar.urls["sidecar"]}/control`, { headers })).status;
}

describe("a hot restart", () => {
  let sidecar: ServiceProcess;
  beforeAll(async () => {
    // Each test below changes this file further; the last change reverts everything.
    await writeFile(path, settingsWith({ health: { timeoutMs: 3_000 } }));
    sidecar = await startSidecar();
  });
  afterAll(() => sidecar[Symbol.asyncDispose]());
  beforeEach(() =>
    until("no process is draining", generousMs, async () => (await listChildren(sidecar.pid)).length === 1),
  );

  const [requestsPerSecond, webSockets] = isLong ? [200, 20] : [50, 10];
  it(
    `fails none of ${requestsPerSecond} requests a second on ${webSockets} WebSockets when settings change`,
    { timeout: 300_000 },
    async () => {
      await until("the sidecar is ready", generousMs, () => isReady(sidecar));
      const callers = await startCallers(sidecar.urls["gateway"] ?? "", { requestsPerSecond, webSockets });
      const changes: readonly Tree[] = [
        { log: { level: "warn" } },
        { gateway: { cache: { totalBytes: 1_048_576 } } },
        { gateway: { listener: { connections: 512 } } },
        { gateway: { listener: { idleTimeoutMs: 70_000 } } },
        { gateway: { tracing: { otlpUrl: "http://127.0.0.1:9/v1/traces" } } },
        { gateway: { internal: { enabled: true, port: 0 } } },
        { health: { timeoutMs: 4_000 } },
        { restart: { driver: "none", budgetPerHour: 3 } },
        { lag: { maxBlocks: 40 } },
        {},
      ];
      expect(changes).toHaveLength(10);
      const made = takeSlice(changes, 10);
      const holders = new Set([await readHolder()]);
      for (const change of made) {
        const text = settingsWith(change);
        await writeFile(path, text);
        await waitUntilInForce(sidecar, path, text);
        holders.add(await readHolder());
      }
      // Waits until the last of the old processes has exited, which must work under load as well.
      const isReopened = () => callers.reopened() >= (webSockets / 2) * made.length;
      await until("the WebSockets are reopened", generousMs, isReopened);
      await until("no process is draining", generousMs, async () => (await listChildren(sidecar.pid)).length === 1);
      await callers.end();
      expect(callers.failures).toEqual([]);
      expect(holders.size).toBe(made.length + 1);
      expect(callers.answered()).toBeGreaterThan(requestsPerSecond * made.length);
    },
  );

  describe("invalid settings", () => {
    it("are rejected by the first check and leave the serving process alone", async () => {
      const fileBefore = await readFile(path, "utf8");
      const holder = await readHolder();
      await writeFile(path, settingsWith({ health: { timeoutMs: "soon" } }));
      expect(await waitUntilRejected(sidecar, path)).toContain("health.timeoutMs");
      expect(await readHolder()).toBe(holder);
      expect(await readPrometheus(sidecar)).toContain('gatehouse_file_loaded{setting="settingsPath"} 0');
      const found = await readSettingsInForce(sidecar, path);
      expect(found?.sha256).toBe(hash("sha256", fileBefore));
      await writeFile(path, fileBefore);
      await waitUntilInForce(sidecar, path, fileBefore);
      expect(await readPrometheus(sidecar)).toContain('gatehouse_file_loaded{setting="settingsPath"} 1');
      expect(await readHolder()).toBe(holder);
    });

    it("that fail at startup are replaced with the previous settings in a new process, under load", async () => {
      const fileBefore = await readFile(path, "utf8");
      await until("the sidecar is ready", generousMs, () => isReady(sidecar));
      const holder = await readHolder();
      const taker = createServer().listen(0, "127.0.0.1");
      await once(taker, "listening");
      const callers = await startCallers(sidecar.urls["gateway"] ?? "", { requestsPerSecond: 100, webSockets: 5 });
      const { port } = taker.address() as AddressInfo;
      await writeFile(path, settingsWith({ gateway: { private: { enabled: true, port } } }));
      expect(await waitUntilRejected(sidecar, path)).toMatch(/is in use/);
      expect(await readHolder()).not.toBe(holder);
      expect((await readSettingsInForce(sidecar, path))?.sha256).toBe(hash("sha256", fileBefore));
      await callers.end();
      expect(callers.failures).toEqual([]);
      taker.close();
      // The same change works once the obstacle is gone.
      const after = settingsWith({ gateway: { private: { enabled: true, port: 0 } } });
      await writeFile(path, after);
      await waitUntilInForce(sidecar, path, after);
    });
  });

  it("applies a changed secret as well", async () => {
    const [before, after] = [controlToken, controlToken.replace("1", "2")];
    await until("the old token works", generousMs, async () => (await readControlStatus(sidecar, before)) === 200);
    await writeFile(join(folder, "control-token"), after);
    await until("the new token works", generousMs, async () => (await readControlStatus(sidecar, after)) === 200);
    await until(
      "the old process has exited",
      generousMs,
      async () => (await readControlStatus(sidecar, before)) === 401,
    );
  });

  describe("kill -9 during a hot restart", () => {
    const killed = [
      ["the new process", 6_000],
      ["the old process", 7_000],
    ] as const;
    it.each(takeSlice(killed, 2))("of %s: keeps serving with the new settings", async (whom, timeoutMs) => {
      const [old] = await listChildren(sidecar.pid);
      const text = settingsWith({ health: { timeoutMs } });
      await writeFile(path, text);
      const next = await until("the new process is running", generousMs, async () =>
        (await listChildren(sidecar.pid)).find((pid) => pid !== old),
      );
      process.kill((whom === "the new process" ? next : old) ?? 0, "SIGKILL");
      await waitUntilInForce(sidecar, path, text);
      expect(await askGateway(sidecar)).toMatch(/^0x/);
      await until("one process is left", generousMs, async () => (await listChildren(sidecar.pid)).length === 1);
    });
  });
});

/** Returns a service's processes in the middle of a hot restart. */
const waitForBoth = ({ pid }: ServiceProcess) =>
  until("both processes are there", generousMs, async () => {
    const children = await listChildren(pid);
    return children.length === 2 && children;
  });

it("kill -9 of the old process: exits both, and serves again after a restart; SIGTERM during the next hot restart exits cleanly", async () => {
  await writeFile(path, settingsWith({}));
  const sidecar = await startSidecar();
  const text = settingsWith({ health: { timeoutMs: 6_000 } });
  await writeFile(path, text);
  const killed = await waitForBoth(sidecar);
  await sidecar.end("SIGKILL", generousMs);
  const again = await until("it starts again", generousMs, startSidecar);
  await waitUntilInForce(again, path, text);
  expect(await askGateway(again)).toMatch(/^0x/);
  await until("both have exited", generousMs, () => killed.every((pid) => !existsSync(`/proc/${pid}`)));
  await writeFile(path, settingsWith({ health: { timeoutMs: 7_000 } }));
  const both = await waitForBoth(again);
  expect(await again.end("SIGTERM", generousMs)).toBe(0);
  expect(both.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
});

/** Formats the settings file of a standalone gateway. */
function gatewaySettingsWith(totalBytes: number): string {
  const { httpUrl, webSocketUrl } = node;
  const listeners = { listen: { port: 0 }, public: { port: 0 } };
  return JSON.stringify({ node: { httpUrl, webSocketUrl, chainId: 1672 }, ...listeners, cache: { totalBytes } });
}

it("hot-restarts a standalone gateway as well, and does not restart it with invalid settings", async () => {
  await writeFile(path, gatewaySettingsWith(1_000_000));
  const start = () => startService("gateway", {}, { args: ["--settings", path, "--hot-restart"] });
  await using gateway = await start();
  const [old] = await listChildren(gateway.pid);
  await writeFile(path, gatewaySettingsWith(2_000_000));
  await waitUntilInForce(gateway, path, gatewaySettingsWith(2_000_000));
  await until("the old process has exited", generousMs, () => !existsSync(`/proc/${old}`));
  expect(await askGateway(gateway)).toMatch(/^0x/);
  await gateway[Symbol.asyncDispose]();
  await writeFile(path, gatewaySettingsWith(-1));
  await expect(start()).rejects.toThrow(/ended with status 1:[^]*cache\.totalBytes/);
});
