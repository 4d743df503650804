import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";

/** What the process is told: to upgrade its node to a release, and at which step from now on to end itself. */
export type UpgradeProcessRequest = Readonly<{ source?: string; killAt?: number }>;

/** How the node and its upgrade are in the eyes of the upkeep. */
export type UpgradeProcessState = Readonly<{
  /** node.conf and pruning are as desired, and no restart is due. */
  isRight: boolean;
  /** Why an upgrade that was asked for was refused. */
  problems: readonly string[];
  stage?: string | undefined;
  end?: string | undefined;
  words?: string | undefined;
}>;

/** The upkeep of a node in a process of its own, there to be killed in the middle of an upgrade. */
export type UpgradeProcess = Readonly<{
  /** Undefined once the process has ended. */
  ask: (request?: UpgradeProcessRequest) => Promise<UpgradeProcessState | undefined>;
  hasEnded: () => boolean;
  /** Ends it by SIGKILL, and waits. */
  kill: () => Promise<void>;
}>;

const program = fileURLToPath(new URL("upgrade-process.main.ts", import.meta.url));

/** Starts the process; its state stands in the node's workspace. `killAt`: the step at which it ends itself, 0 for never. */
export function startUpgradeProcess(node: Pick<FakeNode, "workspace" | "httpUrl">, killAt = 0): UpgradeProcess {
  const words = [program, node.workspace, node.httpUrl, join(node.workspace, "state"), String(killAt)];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit");
  return {
    ask: async (request = {}) => {
      if (!child.connected) return undefined;
      const answer = once(child, "message").then(([state]) => state as UpgradeProcessState);
      // Without a callback, a message to a process that has just ended would be an error of the whole child.
      child.send(request, () => undefined);
      return Promise.race([answer, ended.then(() => undefined)]);
    },
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
