import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { findPharosProcesses, locateFakeNode, writePrograms, writeWorkspace } from "./fake-node-files.ts";
import { testProfile, type NodeProfile } from "./node-profile.ts";

/** A node's workspace with real executables, small enough for a test: its height rises by itself, and survives restarts. */
export type FakeNode = AsyncDisposable &
  Readonly<{
    workspace: string;
    binDirectory: string;
    configPath: string;
    /** Paths of its own `ops`, of its command-line tool, and of what it runs. */
    programs: Readonly<{ ops: string; tool: string; node: string }>;
    httpUrl: string;
    /** Reads node.conf. */
    config: () => Promise<string>;
    /** Replaces node.conf at once, so that nobody sees half of it or nothing in it. */
    save: (text: string) => Promise<void>;
    /** Returns the node.conf that the running node has read. */
    running: () => Promise<string>;
    /** Keeps the running node at its height until it is started again. */
    stall: () => Promise<void>;
    /** Has the node replay its log for so long at its next starts before its port opens. */
    opensAfter: (ms: number) => Promise<void>;
    /** Counts the node's starts. */
    starts: () => Promise<number>;
    /** Starts the node by its own `ops`, and waits until it answers. */
    start: () => Promise<void>;
    /** Stops the node by its own `ops`. */
    stop: () => Promise<void>;
    /**
     * Makes a release next to the node, for `gatehouse upgrade`; returns its directory. A corrupting one ruins the data at its start, and ends.
     */
    release: (version: string, kind: "good" | "corrupting") => Promise<string>;
    /** Returns the version that the running, or next, node reports. */
    version: () => Promise<string>;
    /** Ends the node by SIGKILL. */
    kill: () => Promise<void>;
    /** Puts another version's programs in place; a running node goes on with its own until its next start. */
    install: (version: string) => Promise<void>;
  }>;

/** A configuration with drift: the keys of another version, and a comment that has to stay. */
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

/** Builds the drifted configuration with a port that nothing listens on: while something listens on one that node.conf names, data are not called corrupt. */
export async function buildFreePortConfig(): Promise<string> {
  const [port = 0] = await findFreePorts(1);
  return driftedConfig.replace("18100", String(port));
}

/** Options of a fake node: its profile, by default that of this run of the tests, and the directory that stands for its machine, by default its own workspace. */
export type FakeNodeOptions = Readonly<{ profile?: NodeProfile; host?: string }>;

/**
 * Creates a workspace in the layout of v0.11 and later, of a node of v0.16.2. A node whose configuration holds the word `crash` does not start; one
 * with the word `frozen` answers but its height stays. One whose `data/chain` holds `ruined` ends at its start; one that has `data/forked` has other
 * blocks than before.
 */
export async function createFakeNode(config = driftedConfig, options: FakeNodeOptions = {}): Promise<FakeNode> {
  const { profile = testProfile } = options;
  const workspace = await mkdtemp(join(options.host ?? tmpdir(), "gatehouse-node-"));
  const places = locateFakeNode(workspace, profile);
  const { binDirectory, configPath, programs } = places;
  const [port = 0] = await findFreePorts(1);
  await writeWorkspace(places, { config, port, host: options.host ?? workspace });
  const install = (version: string) => writeFile(join(workspace, "version"), version);
  await install("0.16.2");
  const ops = async (...words: readonly string[]) => runOps(places.opsDirectory, words);
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
        () => answers(port),
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
      for (const pid of await findPharosProcesses(workspace)) endProcess(pid);
      await waitForEnd();
      await rm(workspace, { recursive: true, force: true });
    },
  };
}

/** Runs `ops`; its output goes nowhere, since a node may go on with it. */
async function runOps(directory: string, words: readonly string[]): Promise<void> {
  const child = spawn(join(directory, "ops"), words, { cwd: directory, stdio: "ignore" });
  const [status] = (await once(child, "exit")) as [number | null];
  if (status !== 0) throw new Error(`ops ${words.join(" ")} ended with status ${status}`);
}

/** Starts a fake node with the configuration. */
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

async function answers(port: number): Promise<boolean> {
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

/** Has node.conf drift, in one step, so that a torn file can only be the upkeep's. */
export async function replaceByDrifted({ configPath }: Pick<FakeNode, "configPath">): Promise<void> {
  await writeFile(`${configPath}.new`, driftedConfig);
  await rename(`${configPath}.new`, configPath);
}
