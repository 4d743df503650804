import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { until } from "./until.ts";

/** What the process is told; `killAt`: the step at which it is to end itself, see `armKillPoint`. */
export type UpkeepRequest = Readonly<{ killAt?: number }>;

/** How the node is in the eyes of its upkeep. */
export type UpkeepProcessState = Readonly<{
  /** node.conf is as desired, and no restart that could be made is due. */
  isRight: boolean;
  /** Since the process started. */
  corrections: number;
  restarts: number;
}>;

/** The upkeep of a node in a process of its own, without the sidecar's other parts: quick to start, and there to be killed. */
export type UpkeepProcess = Readonly<{
  /** Undefined once the process has ended. */
  ask: (request?: UpkeepRequest) => Promise<UpkeepProcessState | undefined>;
  /** Waits until the node is right. */
  right: () => Promise<void>;
  hasEnded: () => boolean;
  /** Ends it by SIGKILL, and waits. */
  kill: () => Promise<void>;
}>;

const program = fileURLToPath(new URL("upkeep-process.main.ts", import.meta.url));
const rightWithinMs = 30_000;

/** Starts the process; its state stands in the node's workspace. */
export function startUpkeepProcess(
  node: Pick<FakeNode, "workspace" | "httpUrl">,
  driver: "none" | "ops",
): UpkeepProcess {
  const child = spawn(
    process.execPath,
    [program, node.workspace, node.httpUrl, join(node.workspace, "state"), driver],
    {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    },
  );
  const ended = once(child, "exit");
  const ask = async (request: UpkeepRequest = {}) => {
    if (!child.connected) return undefined;
    const answer = once(child, "message").then(([state]) => state as UpkeepProcessState);
    // Without a callback, a message to a process that has just ended would be an error of the whole child; `ended` tells it.
    child.send(request, () => undefined);
    return Promise.race([answer, ended.then(() => undefined)]);
  };
  return {
    ask,
    right: async () => void (await until("the node is right", rightWithinMs, async () => (await ask())?.isRight)),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
