import { forwardStages, type BackwardStage, type UpgradeRecord, type UpgradeStage } from "../state/upgrade-record.ts";
import type { Route } from "../../upgrade/next-stage.ts";

/** Stages for upgrading a node when its programs and data are on this machine. */
export const upgradeRoute: Route<UpgradeRecord> = {
  runner: "the sidecar",
  forward: forwardStages,
  back: listBack,
  cleanups: { cleaning: "committed" },
  // A supervisor may start the node as soon as the first new program is installed, before the upgrade starts it.
  facts: (stage) => (stage === "installing" ? { newRan: true } : {}),
  words: {
    stopping: "stopping the node",
    copying: "copying the data and the old programs",
    installing: "installing the new programs",
    migrating: "migrating node.conf to the new version",
    proving: "starting and verifying the new version",
    cleaning: "removing the copy of the data",
    "back-stopping": "stopping the node for the rollback",
    "back-discarding": "removing the copy for the rollback",
    "back-data": "restoring the old data",
    "back-programs": "restoring the old programs",
    "back-config": "restoring the old node.conf",
    "back-proving": "starting and verifying the old version",
  },
};

/**
 * Lists the stages of the rollback. If only the old version has run, the copies are removed, and the node is started unless it is already
 * running. The node is not stopped again: if it couldn't be stopped before, that would fail again, and strand a node that serves.
 */
export function listBack({
  stage,
  newRan,
  attempts,
}: Pick<UpgradeRecord, "stage" | "newRan" | "attempts">): readonly [UpgradeStage, ...UpgradeStage[]] {
  if (newRan) return ["back-stopping", "back-programs", "back-config", "back-data", "back-proving"];
  const isAgain = attempts > 0 || stage === "back-stopping";
  return isAgain ? ["back-stopping", "back-discarding", "back-proving"] : ["back-discarding", "back-proving"];
}

/** Whether a stage belongs to the rollback. */
export function isBackward(stage: UpgradeStage): stage is BackwardStage {
  return stage.startsWith("back-");
}

/** Whether a stage starts the node. Such a stage charges the restart budget once. */
export function isStart(stage: UpgradeStage): boolean {
  return stage === "proving" || stage === "back-proving";
}
