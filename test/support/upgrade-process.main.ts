import type { ConditionType } from "#status/condition.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { armKillPoint } from "./kill-points.ts";
import type { UpgradeProcessRequest, UpgradeProcessState } from "./upgrade-process.ts";

/**
 * Runs the upkeep alone in a process that upgrades its node and is meant to be killed. Arguments: the node's workspace, its
 * HTTP URL, the state directory, and the step at which it kills itself, 0 for never.
 */
const [workspace = "", httpUrl = "", stateDirectory = "", killAt = "0"] = process.argv.slice(2);

// Kills also a sidecar that continues an upgrade.
if (killAt !== "0") await armKillPoint(Number(killAt));
await using upkeep = await runUpkeep(
  { workspace, httpUrl },
  {
    GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "3600",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "1000",
    GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "500",
    GATEHOUSE_SIDECAR_LAG_RESTART: "false",
    GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "300",
    GATEHOUSE_SIDECAR_HEALTH_DISK_FREE_RATIO: "0",
  },
  { stateDirectory },
);
process.on("message", (request: UpgradeProcessRequest) => void handle(request));
await new Promise<void>((resolve) => process.once("disconnect", () => resolve()));

async function handle({ source, killAt: step }: UpgradeProcessRequest): Promise<void> {
  if (step !== undefined) await armKillPoint(step);
  const { control } = upkeep.upkeep;
  let problems: readonly string[] = [];
  if (source !== undefined) {
    const shown = await control.upgrade({ source });
    ({ problems } = shown.plan);
    if (shown.result === "shown") {
      ({ problems } = (await control.upgrade({ source, digest: shown.plan.digest })).plan);
    }
  }
  const { upgrade } = control.view();
  const reason = (type: ConditionType) => upkeep.board.get(type)?.reason;
  const isRight =
    reason("ConfigReconciled") === "Reconciled" &&
    reason("NoRestartPending") === "NoRestart" &&
    reason("Pruning") === "Enabled";
  const state: UpgradeProcessState = {
    isRight: isRight && reason("DataIntact") === "Intact",
    isKept: reason("RollbackReady") === "Ready",
    problems,
    data: reason("DataIntact"),
    isHeld: upkeep.state.hold.get() !== undefined,
    stage: upgrade?.stage,
    end: upgrade?.end,
    words: upgrade?.words,
  };
  process.send?.(state);
}
