import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { copyFile, link, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sendRequest } from "#daemon/http/send-request.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { createRpcClient, RpcFailure } from "#health/rpc-client.ts";
import type { NodeHealth } from "#health/node-health.ts";
import { createFakeNode, type FakeNode } from "./fake-node.ts";
import { nodeProgram } from "./fake-node-programs.ts";

/** A node whose programs behave as those of a public node family do; its program has a name that no other test's has. */
export type OpsNode = FakeNode &
  Readonly<{
    name: string;
    /** Makes another root whose node has a program of the same name. */
    addNeighbour: () => Promise<OpsNode>;
    /** Sets how the node takes SIGTERM at its next starts: it exits after so many milliseconds and answers until then, or never. */
    exitsAfter: (ms: number | "never") => Promise<void>;
    pid: () => Promise<number>;
    /** Reads the environment that the node runs with. */
    environment: () => Promise<Readonly<Record<string, string>>>;
    /** Counts the lines that the node has printed. */
    printed: () => Promise<number>;
  }>;

/**
 * Code that comes before the fake node's own: it prints all the time, and dies of a closed pipe; takes a lock, which after SIGKILL lasts until a process has met it;
 * and exits some time after SIGTERM.
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

/** As the public one: it hands its output on, waits for nothing, exits with 0, and ends whatever has the name in its command line. */
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

/** Creates the node; it does not run. */
export async function createOpsNode(
  config?: string,
  name = `noded-${randomBytes(4).toString("hex")}`,
): Promise<OpsNode> {
  const node = await createFakeNode(config);
  const { binDirectory, workspace } = node;
  const program = join(binDirectory, name);
  await link(process.execPath, program).catch(() => copyFile(process.execPath, program));
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
        async () => (await lookAtRpc(node.httpUrl)).failure,
        (failure) => failure === undefined,
      );
    },
  };
}

/** Looks at the RPC once, as the health watch does. */
export async function lookAtRpc(url: string): Promise<NodeHealth> {
  const call = createRpcClient({ url, timeoutMs: 1_000 }, { send: sendRequest });
  try {
    return { answers: 1, height: Number(await call("eth_blockNumber", [], new AbortController().signal)) };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { answers: 0, failure: { reason: error.code, message: error.message, isPortClosed: error.isPortClosed } };
  }
}
