import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSettings } from "#daemon/settings/settings.ts";
import { findRunningNode } from "#devnet/node/running-node.ts";
import { prepareNode } from "#devnet/prepared-node.ts";
import { devnetSettings } from "#devnet/settings.ts";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { formatArgument } from "#node/layout.ts";
import { replaceConstants } from "../constant-overrides.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";

export type DevnetWorkspace = AsyncDisposable &
  Readonly<{
    workspace: string;
    configPath: string;
    httpUrl: string;
    webSocketUrl: string;
    /**
     * Installs another version over the running node, which keeps running until its next start; returns the new path of
     * node.conf.
     */
    install: (version: string) => Promise<string>;
    restart: () => Promise<void>;
    stop: () => Promise<void>;
  }>;

export async function startDevnetWorkspace(version: string): Promise<DevnetWorkspace> {
  const workspace = await mkdtemp(join(tmpdir(), "gatehouse-devnet-"));
  const [httpPort = 0, webSocketPort = 0] = await findFreePorts(2);
  const prepare = async (nodeVersion: string) => {
    using _ = replaceConstants(devnetSettings.schema, testProfile === "strict" ? { "node.opensAfterSeconds": 1 } : {});
    const env = {
      GATEHOUSE_DEVNET_WORKSPACE_DIRECTORY: workspace,
      GATEHOUSE_DEVNET_NODE_VERSION: nodeVersion,
      GATEHOUSE_DEVNET_PROFILE: testProfile,
      GATEHOUSE_DEVNET_NODE_HTTP_PORT: String(httpPort),
      GATEHOUSE_DEVNET_NODE_WEB_SOCKET_PORT: String(webSocketPort),
      GATEHOUSE_DEVNET_CHAIN_BLOCK_TIME_SECONDS: "0.2",
    };
    return (await prepareNode(readSettings(devnetSettings, { env }))).workspace;
  };
  let place = await prepare(version);
  const { configPath } = place;
  const run = async (...words: readonly string[]) => {
    const [status] = (await once(
      spawn(join(place.opsDirectory, "ops"), words, { cwd: place.opsDirectory, stdio: "ignore" }),
      "exit",
    )) as [number];
    if (status !== 0) throw new Error(`./ops ${words.join(" ")} ended with status ${status}`);
  };
  const start = async () => {
    await run("start", "--config", formatArgument(place.configPath, place.opsDirectory));
    if (testProfile === "pharos") await until("the node runs", generousMs, () => findRunningNode(place.runDirectory));
  };
  const stop = async () => {
    await run("stop", "--force");
    await until(
      "the node has exited",
      generousMs,
      async () => (await findRunningNode(place.runDirectory)) === undefined,
    );
  };
  await start();
  return {
    workspace,
    configPath,
    httpUrl: `http://127.0.0.1:${httpPort}`,
    webSocketUrl: `ws://127.0.0.1:${webSocketPort}`,
    install: async (nodeVersion) => {
      place = await prepare(nodeVersion);
      return place.configPath;
    },
    restart: async () => {
      await stop();
      await start();
    },
    stop: async () => void (await stop()),
    [Symbol.asyncDispose]: async () => {
      await stop();
      await rm(workspace, { recursive: true, force: true });
    },
  };
}
