import { join, resolve } from "node:path";
import { CommandError, parseOptions } from "./run-command.ts";
import { startInBackground } from "./start-in-background.ts";
import { waitUntil } from "#daemon/time.ts";
import { isRunning, type ProcessIdentity } from "#daemon/process/running-process.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { findRunningNode } from "../node/running-node.ts";
import { readParameters } from "../workspace/node-parameters.ts";

const usage = [
  "Usage:",
  "  ops start --config <node.conf>   start the node in the background; returns when its JSON-RPC responds",
  "  ops stop [--force]               stop the node; with --force, kill it if it does not stop in time",
].join("\n");

/**
 * Starts and stops the node of a workspace (specification, "Node command line", restart after configuration change).
 *
 * @throws {CommandError} with the usage on any other input, or when the node does not start or stop.
 */
export async function runOpsCommand(workspace: string, args: readonly string[]): Promise<string> {
  const [subcommand, ...rest] = args;
  if (subcommand === "--help") return `${usage}\n`;
  if (subcommand === "start") {
    const { config } = parseOptions(rest, { config: "string" }, usage);
    if (typeof config !== "string") throw new CommandError(`--config <node.conf> is missing.\n${usage}`, 2);
    return startInBackground({ workspace, configPath: resolve(config) });
  }
  if (subcommand === "stop") {
    const { force } = parseOptions(rest, { force: "boolean" }, usage);
    return stopNode({ workspace, mode: force === true ? "kill" : "wait" });
  }
  const found = subcommand === undefined ? "no command given" : `unknown command "${subcommand}"`;
  throw new CommandError(`${found}.\n${usage}`, 2);
}

/** `mode`: `wait` gives the node 30 s to stop, `kill` 2 s before SIGKILL. */
type StopNodeOptions = Readonly<{ workspace: string; mode: "wait" | "kill" }>;

const gracefulStopMs = { kill: 2_000, wait: 30_000 } as const;
const killedStopMs = 5_000;
const pollMs = 5;

/**
 * Stops the node of a workspace with SIGTERM, followed in mode `kill` by SIGKILL after 2 s. Succeeds if no node runs, so that "stop, then
 * start" is always a restart. For the public family, only sends the signal and does not wait.
 *
 * @throws {CommandError} if the node is still running after 30 s (or, if killed, after 5 s more).
 */
async function stopNode({ workspace, mode }: StopNodeOptions): Promise<string> {
  const node = await findRunningNode(join(workspace, "run"));
  if (node === undefined) return "the node is not running\n";
  if (readParameters(join(workspace, "devnet.json")).profile === "pharos") {
    sendSignal(node.pid, mode === "kill" ? "SIGKILL" : "SIGTERM");
    return `process ${node.pid} received SIGTERM\n`;
  }
  sendSignal(node.pid, "SIGTERM");
  if (await hasEnded(node, gracefulStopMs[mode])) return `the node was stopped (process ${node.pid})\n`;
  if (mode === "wait") {
    throw new CommandError(
      `the node (process ${node.pid}) is still running after ${gracefulStopMs.wait} ms; "ops stop --force" kills it`,
      1,
    );
  }
  sendSignal(node.pid, "SIGKILL");
  if (await hasEnded(node, killedStopMs)) return `the node was killed (process ${node.pid}): it did not stop in time\n`;
  throw new CommandError(`the node (process ${node.pid}) can't be killed; check it with: ps -l ${node.pid}`, 1);
}

async function hasEnded(node: ProcessIdentity, withinMs: number): Promise<boolean> {
  return await waitUntil(async () => !(await isRunning(node)), Boolean, { everyMs: pollMs, withinMs });
}
