import type { ConditionType } from "#status/condition.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { armKillPoint } from "./kill-points.ts";
import type { UpkeepProcessState, UpkeepRequest } from "./upkeep-process.ts";

/**
 * Runs the upkeep alone in a process that is meant to be killed. Arguments: the node's workspace, its HTTP URL, the state
 * directory, the restart driver, and further settings as JSON. Responds to each message with the node's state; a
 * message with `killAt` sets the step at which the process ends, one with `command` first does what that command of
 * `gatehouse` does.
 */
const [workspace = "", httpUrl = "", stateDirectory = "", driver = "", more = "{}"] = process.argv.slice(2);

await using upkeep = await runUpkeep(
  { workspace, httpUrl },
  {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: driver,
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "3600",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "1000",
    ...(JSON.parse(more) as Readonly<Record<string, string>>),
  },
  { stateDirectory },
);
process.on("message", ({ killAt, command }: UpkeepRequest) => {
  if (command !== undefined) upkeep.upkeep.control[command]();
  void handle(killAt);
});
await new Promise<void>((resolve) => process.once("disconnect", () => resolve()));

async function handle(killAt: number | undefined): Promise<void> {
  if (killAt !== undefined) await armKillPoint(killAt);
  const isSettled = getReason("NoRestartPending") === (driver === "none" ? "NoDriver" : "NoRestart");
  const state: UpkeepProcessState = {
    isRight:
      getReason("ConfigReconciled") === "Reconciled" && (isSettled || getReason("NoRestartPending") === "NoRestart"),
    corrections: await readMetric("gatehouse_node_config_corrections_total"),
    restarts: await readMetric("gatehouse_node_restarts_total"),
    isRestarting: upkeep.state.restartInFlight.get() !== undefined,
    held: upkeep.state.hold.get()?.message,
  };
  process.send?.(state);
}

function getReason(type: ConditionType): string | undefined {
  return upkeep.board.get(type)?.reason;
}

async function readMetric(name: string): Promise<number> {
  const values = (await upkeep.metrics.getSingleMetric(name)?.get())?.values ?? [];
  return values.reduce((sum, { value }) => sum + value, 0);
}
