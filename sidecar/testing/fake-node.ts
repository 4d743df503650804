import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { findPharosProcesses, locateFakeNode, writePrograms, writeWorkspace } from "./fake-node-files.ts";
import { testProfile, type NodeProfile } from "./node-profile.ts";

/** A node's workspace with real executables, small enough for a test. The node's height rises automatically and survives restarts. */
export type FakeNode = AsyncDisposable &
  Readonly<{
    workspace: string;
    binDirectory: string;
    configPath: string;
    /** Paths of the node's `ops`, command-line tool and node program. */
    programs: Readonly<{ ops: string; tool: string; node: string }>;
    httpUrl: string;
    /** Reads node.conf. */
    config: () => Promise<string>;
    /** Replaces node.conf atomically, so that no reader sees a partial or empty file. */
    save: (text: string) => Promise<void>;
    /** Returns the node.conf that the running node has loaded. */
    running: () => Promise<string>;
    /** Freezes the running node's height until its next start. */
    stall: () => Promise<void>;
    /** On the next starts, delays opening the port by this time, as a log replay does. */
    opensAfter: (ms: number) => Promise<void>;
    starts: () => Promise<number>;
    /** Starts the node with its own `ops`, and waits until it responds. */
    start: () => Promise<void>;
    /** Stops the node with its own `ops`. */
    stop: () => Promise<void>;
    /**
     * Creates a release next to the node, for `gatehouse upgrade`; returns the release's directory. A corrupting release damages the data
     * at startup and exits.
     */
    release: (version: string, kind: "good" | "corrupting") => Promise<string>;
    /** Returns the version that the running node reports, or the next one will report. */
    version: () => Promise<string>;
    /** Kills the node with SIGKILL. */
    kill: () => Promise<void>;
    /** Installs another version's programs. A running node keeps using its own until it is restarted. */
    install: (version: string) => Promise<void>;
  }>;

/** A configuration that has drifted: another version's keys, and a comment that must be preserved. */
export const driftedConfig = `{
  // the operator's own words
  "chain": {
    "monitor_config": {
      "enable_pamir_cetina": true,
      "pamir_cetina_job_name": "node-7",
      "pamir_cetina_push_address": "127.0.0.1",
      "pamir_cetina_push_interval": 5,
      "pamir_cetina_push_port": 9091
    },
    "startup_config": { "init_config": { "http_port": "18100" } }
  },
  "storage": { "mygrid_conf": { "big": 12345678901234567890 }, "mygrid_env": { "storage_data_path": "../data" } }
}
`;

/** The same configuration as the sidecar leaves it. */
export const desiredConfig = driftedConfig
  .replace("enable_pamir_cetina", "storage_enable_cetina")
  .replaceAll("pamir_cetina", "storage_cetina");

/** Builds the drifted configuration with an unused port: if anything listens on a port in node.conf, data is not reported as corrupt. */
export async function buildFreePortConfig(): Promise<string> {
  const [port = 0] = await findFreePorts(1);
  return driftedConfig.replace("18100", String(port));
}

/**
 * Options for a fake node: its profile, which defaults to that of this test run, and the directory that simulates its machine, which
 * defaults to the node's own workspace.
 */
export type FakeNodeOptions = Readonly<{ profile?: NodeProfile; host?: string }>;

/**
 * Creates a workspace for a v0.16.2 node, in the layout of v0.11 and later. If the configuration contains the word `crash`, the node does
 * not start; with the word `frozen`, it responds but its height does not rise. If `data/chain` contains `ruined`, the node exits at
 * startup; if `data/forked` exists, it has different blocks than before.
 */
export async function createFakeNode(config = driftedConfig, options: FakeNodeOptions = {}): Promise<FakeNode> {
  const { profile = testProfile } = options;
  const workspace = await mkdtemp(join(options.host ?? tmpdir(), "gatehouse-node-"));
  const fakeLocations = locateFakeNode(workspace, profile);
  const { binDirectory, configPath, programs } = fakeLocations;
  const [port = 0] = await findFreePorts(1);
  await writeWorkspace(fakeLocations, { config, port, host: options.host ?? workspace });
  const install = (version: string) => writeFile(join(workspace, "version"), version);
  await install("0.16.2");
  const ops = async (...opsArguments: readonly string[]) => runOps(fakeLocations.opsDirectory, opsArguments);
  const read = (name: string) => readFile(join(workspace, name), "utf8").catch(() => "");
  const kill = async () => {
    const pid = Number(await read("node.pid"));
    if (pid > 0) endProcess(pid);
  };
  const waitForEnd = () =>
    readUntil(
      () => findPharosProcesses(workspace),
      ({ length }) => length === 0,
    );
  return {
    workspace,
    binDirectory,
    configPath,
    programs,
    httpUrl: `http://127.0.0.1:${port}`,
    config: () => readFile(configPath, "utf8"),
    save: (text) => replaceFile(configPath, text),
    running: () => read("running.conf"),
    stall: () => writeFile(join(workspace, "stalled"), ""),
    opensAfter: (ms) => writeFile(join(workspace, "opens-after"), String(ms)),
    starts: async () => (await read("starts.log")).length,
    start: async () => {
      await ops("start", "--config", `./${basename(configPath)}`);
      await readUntil(
        () => isResponding(port),
        (isAnswering) => isAnswering,
      );
    },
    stop: async () => {
      await ops("stop", "--force");
      await waitForEnd();
    },
    install,
    release: async (version, kind) => {
      const directory = join(workspace, "releases", kind);
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, "release-version"), version);
      const ruin =
        kind === "good" ? "" : `require("node:fs").writeFileSync("../data/chain", "ruined"); process.exit(3);`;
      await writePrograms(directory, profile, (program) => program.replaceAll("../version", "./release-version"), ruin);
      return directory;
    },
    version: () => readFile(join(binDirectory, "release-version"), "utf8").catch(() => read("version")),
    kill,
    [Symbol.asyncDispose]: async () => {
      await kill();
      for (const pid of findPharosProcesses(workspace)) endProcess(pid);
      await waitForEnd();
      await rm(workspace, { recursive: true, force: true });
    },
  };
}

/** Runs `ops` and discards its output, because a node may keep the output open. */
async function runOps(directory: string, opsArguments: readonly string[]): Promise<void> {
  const child = spawn(join(directory, "ops"), opsArguments, { cwd: directory, stdio: "ignore" });
  const [status] = (await once(child, "exit")) as [number | null];
  if (status !== 0) throw new Error(`ops ${opsArguments.join(" ")} ended with status ${status}`);
}

export async function startFakeNode(config = driftedConfig): Promise<FakeNode> {
  const node = await createFakeNode(config);
  try {
    await node.start();
    return node;
  } catch (error) {
    await node[Symbol.asyncDispose]();
    throw error;
  }
}

async function isResponding(port: number): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
  return fetch(`http://127.0.0.1:${port}`, { method: "POST", body }).then(
    async (response) => (await response.text()).includes("result"),
    () => false,
  );
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
