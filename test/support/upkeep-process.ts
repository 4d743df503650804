import { join } from "node:path";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { startKillableProcess, type KillableProcess } from "./killable-process.ts";
import { findTestProgram } from "./programs/place.ts";
import { until } from "#daemon/testing/until.ts";

/**
 * Request to the process; `killAt`: the step at which it kills itself, see `armKillPoint`; `command`: of `gatehouse`,
 * for an operator.
 */
export type UpkeepRequest = Readonly<{ killAt?: number; command?: "resume" | "restart" }>;

export type UpkeepProcessState = Readonly<{
  isRight: boolean;
  corrections: number;
  restarts: number;
  isRestarting: boolean;
  held?: string | undefined;
}>;

/** The upkeep of a node in its own process, without the sidecar's other parts, which starts fast and is meant to be killed. */
export type UpkeepProcess = KillableProcess<UpkeepRequest, UpkeepProcessState> &
  Readonly<{
    right: () => Promise<void>;
  }>;

const program = findTestProgram("upkeep-process.main.ts");
const rightWithinMs = 30_000;

export function startUpkeepProcess(
  node: Pick<FakeNode, "workspace" | "httpUrl">,
  driver: "none" | "ops",
  settings: Readonly<Record<string, string>> = {},
): UpkeepProcess {
  const startedProcess = startKillableProcess<UpkeepRequest, UpkeepProcessState>(program, [
    node.workspace,
    node.httpUrl,
    join(node.workspace, "state"),
    driver,
    JSON.stringify(settings),
  ]);
  const isRight = async () => (await startedProcess.ask())?.isRight;
  return { ...startedProcess, right: async () => void (await until("the node is correct", rightWithinMs, isRight)) };
}
