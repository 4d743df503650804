import { join } from "node:path";
import { waitUntil } from "#daemon/time.ts";
import { isRunning, type ProcessIdentity, findRunningNode } from "../node/running-node.ts";
import { readParameters } from "../workspace/node-parameters.ts";
import { CommandError } from "./run-command.ts";

/** `mode`: `wait` gives the node 30 s to stop, `kill` 2 s before SIGKILL. */
export type StopNodeOptions = Readonly<{ workspace: string; mode: "wait" | "kill" }>;

const gracefulStopMs = { kill: 2_000, wait: 30_000 } as const;
const killedStopMs = 5_000;
const pollMs = 5;

/**
 * Stops the node of a workspace: SIGTERM, and SIGKILL after 2 s when it may be killed. A node that does not run is stopped
 * already, so that "stop, then start" is a restart in every case. One of the public family is only told to.
 *
 * @throws {CommandError} when it still runs after 30 s (or, killed, after 5 s more).
 */
export async function stopNode({ workspace, mode }: StopNodeOptions): Promise<string> {
  const node = await findRunningNode(join(workspace, "run"));
  if (node === undefined) return "the node is not running\n";
  if (readParameters(join(workspace, "devnet.json")).profile === "pharos") {
    send(node, mode === "kill" ? "SIGKILL" : "SIGTERM");
    return `process ${node.pid} was told to stop\n`;
  }
  send(node, "SIGTERM");
  if (await hasEnded(node, gracefulStopMs[mode])) return `the node is stopped (process ${node.pid})\n`;
  if (mode === "wait") {
    throw new CommandError(
      `the node (process ${node.pid}) still runs after ${gracefulStopMs.wait} ms; "ops stop --force" kills it`,
      1,
    );
  }
  send(node, "SIGKILL");
  if (await hasEnded(node, killedStopMs)) return `the node is killed (process ${node.pid}): it did not stop in time\n`;
  throw new CommandError(`the node (process ${node.pid}) can't be killed; look at it with: ps -l ${node.pid}`, 1);
}

function send(node: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    process.kill(node.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function hasEnded(node: ProcessIdentity, withinMs: number): Promise<boolean> {
  return await waitUntil(async () => !(await isRunning(node)), Boolean, { everyMs: pollMs, withinMs });
}
