import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A node's workspace with real executables, small enough for a test: its height rises by itself, and survives restarts. */
export type FakeNode = AsyncDisposable &
  Readonly<{
    workspace: string;
    binDirectory: string;
    configPath: string;
    httpUrl: string;
    /** What node.conf holds now. */
    config: () => Promise<string>;
    /** The node.conf that the running node has read. */
    running: () => Promise<string>;
    /** Keeps the running node at its height until it is started again. */
    stall: () => Promise<void>;
    /** How often the node was started. */
    starts: () => Promise<number>;
    /** Starts the node by its own `ops`, and waits until it answers. */
    start: () => Promise<void>;
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

/**
 * Makes a workspace in the layout of v0.11 and later. A node whose monitor_config holds the word `crash` does not start; one
 * with the word `frozen` answers but its height stays.
 */
export async function createFakeNode(config = driftedConfig): Promise<FakeNode> {
  const workspace = await mkdtemp(join(tmpdir(), "gatehouse-node-"));
  const binDirectory = join(workspace, "bin");
  await mkdir(binDirectory);
  await mkdir(join(workspace, "data"));
  const configPath = join(binDirectory, "node.conf");
  await writeFile(configPath, config);
  const port = await freePort();
  await script(join(binDirectory, "node-process.mjs"), nodeProgram(port));
  await script(join(binDirectory, "ops"), opsProgram(port));
  await script(join(binDirectory, "node_cli"), nodeCliProgram);
  const read = (name: string) => readFile(join(workspace, name), "utf8").catch(() => "");
  return {
    workspace,
    binDirectory,
    configPath,
    httpUrl: `http://127.0.0.1:${port}`,
    config: () => readFile(configPath, "utf8"),
    running: () => read("running.conf"),
    stall: () => writeFile(join(workspace, "stalled"), ""),
    starts: async () => (await read("starts.log")).length,
    start: async () => void (await promisify(execFile)("./ops", ["start"], { cwd: binDirectory })),
    [Symbol.asyncDispose]: async () => {
      const pid = Number(await read("node.pid"));
      if (pid > 0) endProcess(pid);
      await rm(workspace, { recursive: true, force: true });
    },
  };
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function script(path: string, body: string): Promise<void> {
  await writeFile(path, `#!${process.execPath}\n${body}`);
  await chmod(path, 0o755);
}

const nodeProgram = (port: number) => `
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
const config = readFileSync("node.conf", "utf8");
appendFileSync("../starts.log", "x");
if (config.includes("crash")) process.exit(3);
writeFileSync("../running.conf", config);
writeFileSync("../node.pid", String(process.pid));
rmSync("../stalled", { force: true });
const frozen = config.includes("frozen");
let height = 0;
const advance = () => {
  if (!existsSync("../stalled")) height = Math.floor(Date.now() / 100) % 1e9;
  return height;
};
const answers = {
  eth_blockNumber: () => "0x" + (frozen ? 5 : advance()).toString(16),
  eth_chainId: () => "0x688",
  eth_syncing: () => false,
  web3_clientVersion: () => "fake/v0.16.2/test",
};
createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { method, id } = JSON.parse(body);
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.() }));
}).listen(${port}, "127.0.0.1");
`;

const opsProgram = (port: number) => `
const { spawn } = require("node:child_process");
const { readFileSync, rmSync } = require("node:fs");
const [verb] = process.argv.slice(2);
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const answers = () => fetch("http://127.0.0.1:${port}", { method: "POST", body: '{"id":1,"method":"eth_blockNumber"}' }).then(() => true, () => false);
(async () => {
  if (verb === "stop") {
    try { process.kill(Number(readFileSync("../node.pid", "utf8")), "SIGKILL"); } catch { process.exitCode = 1; }
    rmSync("../node.pid", { force: true });
    while (await answers()) await wait(10);
    return;
  }
  const child = spawn(process.execPath, ["node-process.mjs"], { detached: true, stdio: "ignore" });
  let exit;
  child.on("exit", (code) => { exit = code; });
  while (!(await answers())) {
    if (exit !== undefined) { console.error("node exited with " + exit); process.exit(1); }
    await wait(10);
  }
  process.exit(0);
})();
`;

const nodeCliProgram = `
const { existsSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2);
if (args[0] === "--version") { console.log("node_cli v0.16.2"); process.exit(0); }
if (args[0] !== "prune" || args[1] !== "--c") { console.error("usage: node_cli prune --c <config_path> --get|--enable_auto_prune"); process.exit(2); }
if (args[3] === "--enable_auto_prune") writeFileSync("../pruning", "1");
console.log("PruneInfo:\\nenable_auto_prune: " + (existsSync("../pruning") ? 1 : 0) + "\\nauto_prune_reserved_window: 100000\\nprune_reserved_version: 1\\nflushed_version: 2\\nreal_prune_reserved_version: 1");
`;
