import { join } from "node:path";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { startKillableProcess, type KillableProcess } from "./killable-process.ts";
import { findTestProgram } from "./programs/place.ts";

/** Request to the process: a release to which it upgrades its node, and the step from now on at which it kills itself. */
export type UpgradeProcessRequest = Readonly<{ source?: string; killAt?: number }>;

export type UpgradeProcessState = Readonly<{
  isRight: boolean;
  /**
   * Whether the node is known to have advanced with its node.conf. Without a restart, its start and the file's last change may be too close
   * together to be distinguished.
   */
  isKept: boolean;
  problems: readonly string[];
  data: string | undefined;
  isHeld: boolean;
  stage?: string | undefined;
  end?: string | undefined;
  words?: string | undefined;
}>;

export type UpgradeProcess = KillableProcess<UpgradeProcessRequest, UpgradeProcessState>;

const program = findTestProgram("upgrade-process.main.ts");

/**
 * Starts the process; its state is in the node's workspace. `killAt`: the step at which it kills itself, 0 for never.
 */
export function startUpgradeProcess(
  node: Pick<FakeNode, "workspace" | "httpUrl">,
  { killAt = 0 }: Readonly<{ killAt?: number }> = {},
): UpgradeProcess {
  const state = join(node.workspace, "state");
  return startKillableProcess(program, [node.workspace, node.httpUrl, state, String(killAt)]);
}
