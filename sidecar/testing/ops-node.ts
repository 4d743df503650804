import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, existsSync, renameSync } from "node:fs";
import { link, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { sendRequest } from "#daemon/http/send-request.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { createRpcClient, RpcFailure } from "#health/rpc-client.ts";
import type { RpcState } from "#health/rpc-state.ts";
import { createFakeNode, type FakeNode } from "./fake-node.ts";
import { nodeProgram } from "./fake-node-programs.ts";

/** A node whose programs behave like a public node family's. Its program name is unique among tests. */
export type OpsNode = FakeNode &
  Readonly<{
    name: string;
    /** Creates another root whose node has the same program name. */
    addNeighbour: () => Promise<OpsNode>;
    /**
     * Sets how the node handles SIGTERM from its next start on: it responds for this many milliseconds and then exits, or it never exits.
     */
    exitsAfter: (ms: number | "never") => Promise<void>;
    pid: () => Promise<number>;
    /** Reads the node's environment. */
    environment: () => Promise<Readonly<Record<string, string>>>;
    /** Counts the lines that the node has printed. */
    printed: () => Promise<number>;
  }>;

/**
 * Code that runs before the fake node's own. It prints continuously and dies on a closed pipe; it takes a lock, which after a SIGKILL
 * remains until another process fails on it; and it exits some time after SIGTERM.
 */
const prelude = `
{
  const { appendFileSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
  const read = (path) => { try { return readFileSync(path, "utf8"); } catch { return ""; } };
  const owner = Number(read("../data/lock"));
  const runs = () => { try { return process.kill(owner, 0); } catch { return false; } };
  if (owner > 0) {
    appendFileSync("../locked.log", "x");
    if (!runs()) rmSync("../data/lock");
    console.error("lock held");
    process.exit(1);
  }
  writeFileSync("../data/lock", String(process.pid));
  writeFileSync("../environment.json", JSON.stringify(process.env));
  const beat = () => { appendFileSync("../printed.log", "x"); console.log("block"); };
  process.on("exit", () => rmSync("../data/lock"));
  beat();
  setInterval(beat, 20);
  const exitsAfter = read("../exits-after");
  process.on("SIGTERM", () => {
    if (exitsAfter !== "never") setTimeout(() => process.exit(0), Number(exitsAfter));
  });
}
`;

/**
 * Like the public family's `ops`, passes its output on to the node, waits for nothing, exits with 0, and kills every process whose command
 * line contains the name.
 */
const opsProgram = (name: string) => `#!/bin/sh
echo "$@" >>../ops.log
env >>../programs.env
case $1 in
start)
  echo Starting
  ./${name} node-process.cjs &
  echo Started ;;
stop)
  signal=TERM
  [ "$2" = --force ] && signal=KILL
  for file in $(grep -l ${name} /proc/[0-9]*/cmdline 2>/dev/null); do
    pid=\${file#/proc/}
    kill -$signal "\${pid%/cmdline}" 2>/dev/null
  done
  echo Stopped ;;
esac
exit 0
`;

/** Copies the Node.js binary once to the file system that holds the test workspaces, so that each can link to it. */
function copyNodeProgram(): string {
  const program = join(tmpdir(), `gatehouse-${basename(process.execPath)}-${process.version}`);
  if (existsSync(program)) return program;
  const copy = `${program}.${process.pid}`;
  copyFileSync(process.execPath, copy);
  renameSync(copy, program);
  return program;
}

/** Creates the node without starting it. */
export async function createOpsNode(
  config?: string,
  name = `noded-${randomBytes(4).toString("hex")}`,
): Promise<OpsNode> {
  const node = await createFakeNode(config);
  const { binDirectory, workspace } = node;
  await link(copyNodeProgram(), join(binDirectory, name));
  await writeFile(join(binDirectory, "node-process.cjs"), prelude + nodeProgram({ profile: "standard" }));
  await writeFile(join(binDirectory, "ops"), opsProgram(name));
  const read = (path: string) => readFile(join(workspace, path), "utf8").catch(() => "");
  const pid = async () => Number(await read("node.pid"));
  return {
    ...node,
    name,
    addNeighbour: () => createOpsNode(config, name),
    exitsAfter: (ms) => writeFile(join(workspace, "exits-after"), String(ms)),
    pid,
    environment: async () => JSON.parse(await read("environment.json")) as Record<string, string>,
    printed: async () => (await read("printed.log")).length,
    start: async () => {
      const ops = spawn(join(binDirectory, "ops"), ["start"], { cwd: binDirectory, stdio: "ignore" });
      await once(ops, "exit");
      await readUntil(
        async () => (await checkRpc(node.httpUrl)).failure,
        (failure) => failure === undefined,
      );
    },
  };
}

/** Checks the RPC once, like the health watch. */
export async function checkRpc(url: string): Promise<RpcState> {
  const call = createRpcClient({ url, timeoutMs: 1_000 }, { send: sendRequest });
  try {
    return { answers: 1, height: Number(await call("eth_blockNumber", [], new AbortController().signal)) };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { answers: 0, failure: { reason: error.code, message: error.message, isPortClosed: error.isPortClosed } };
  }
}
