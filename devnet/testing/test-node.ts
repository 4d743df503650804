import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, http } from "viem";
import type { MonitorSettings } from "../monitor/monitor-settings.ts";
import type { NodeProfile } from "../node-profile.ts";
import { prepareWorkspace } from "../workspace/prepare-workspace.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";

type CommandResult = Readonly<{ status: number | null; output: string; errors: string }>;

/** A node in its own directory, run through its own `ops`. Disposing of it stops the node and removes the directory. */
export type TestNode = AsyncDisposable &
  Readonly<{
    workspace: Workspace;
    url: string;
    run(program: "ops" | "node_cli", ...words: string[]): Promise<CommandResult>;
    pid(): Promise<number>;
    height(): Promise<bigint>;
    blocks(count: bigint): Promise<void>;
  }>;

export type TestNodeOptions = Readonly<{
  version: string;
  profile?: NodeProfile;
  monitor?: MonitorSettings;
  depth?: string;
}>;

const commandDeadlineMs = 40_000;
const blocksDeadlineMs = 20_000;

/** Prepares a workspace with a 100 ms block interval and the accounts of anvil's well-known mnemonic; starts nothing. */
export async function createTestNode({
  version,
  profile = "standard",
  monitor,
  depth = "",
}: TestNodeOptions): Promise<TestNode> {
  const directory = await mkdtemp(join(tmpdir(), "gatehouse-node-"));
  const [httpPort = 0, webSocket = 0, rpc = 0, tcp = 0] = await findFreePorts(4);
  const workspace = await prepareWorkspace({
    directory: join(directory, depth),
    parameters: {
      version,
      profile,
      opensAfterSeconds: 0,
      nodeDirectory: "node",
      listenHost: "127.0.0.1",
      chainId: 1672,
      blockTimeSeconds: 0.1,
      mnemonic: "test test test test test test test test test test test junk",
      accounts: 3,
      fund: ["0x00000000000000000000000000000000000000fd"],
    },
    conf: { hostIp: "127.0.0.1", ports: { http: httpPort, webSocket, rpc, tcp }, monitor },
  });
  const url = `http://127.0.0.1:${httpPort}`;
  const client = createPublicClient({ transport: http(url), cacheTime: 0 });
  const height = () => client.getBlockNumber();
  const run = (program: "ops" | "node_cli", ...words: string[]) => runCommand(workspace.binDirectory, program, words);
  return {
    workspace,
    url,
    run,
    height,
    pid: async () => Number(JSON.parse(await readFile(join(workspace.runDirectory, "node.pid"), "utf8")).pid),
    blocks: async (count) => {
      const target = (await height()) + count;
      const end = performance.now() + blocksDeadlineMs;
      while ((await height()) < target) {
        if (performance.now() > end) throw new Error(`no block ${target} within ${blocksDeadlineMs} ms`);
        await sleep(20);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await run("ops", "stop", "--force");
      await rm(directory, { recursive: true });
    },
  };
}

async function runCommand(directory: string, program: string, words: readonly string[]): Promise<CommandResult> {
  // One cache for all test workspaces: recompiling takes longer than the rest of startup.
  const cache = `NODE_COMPILE_CACHE=${join(tmpdir(), "node-compile-cache")}`;
  const child = spawn("env", [cache, `./${program}`, ...words], {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: commandDeadlineMs,
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, output, errors };
}
