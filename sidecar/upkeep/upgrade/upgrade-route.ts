import {
  isEarly,
  listSteps,
  type BackwardStage,
  type UpgradeRecord,
  type UpgradeStage,
} from "../state/upgrade-record.ts";
import type { Route } from "../../upgrade/next-stage.ts";

/** Stages for upgrading a node, or restoring its data, when its programs and data are on this machine. */
export const upgradeRoute: Route<UpgradeStage, UpgradeRecord> = {
  runner: "the sidecar",
  forward: listSteps,
  back: listBack,
  cleanups: { cleaning: "committed", "giving-up": "given-up" },
  // A supervisor may start the node as soon as the first new program is installed, before the upgrade starts it.
  facts: (stage) => (stage === "installing" ? { newRan: true } : {}),
  words: {
    "pre-copying": "copying the data while the node runs",
    "giving-up": "removing what was copied",
    stopping: "stopping the node",
    copying: "copying the data and the old programs",
    installing: "putting the new programs in place",
    migrating: "writing node.conf for the new version",
    proving: "starting and proving the new version",
    cleaning: "removing the copy of the data",
    "back-stopping": "stopping the node to go back",
    "back-discarding": "removing what was copied, to go back",
    "back-data": "putting the old data back",
    "back-programs": "putting the old programs back",
    "back-config": "putting the old node.conf back",
    "back-proving": "starting and proving the old version",
  },
};

/**
 * Lists the stages of the rollback. If only the old version has run, the copies are removed, and the node is started unless it is already
 * running. The node is not stopped again: if it couldn't be stopped before, that would fail again, and strand a node that serves. A node
 * that was not yet supposed to be stopped is left alone.
 */
export function listBack({
  stage,
  newRan,
  attempts,
}: Pick<UpgradeRecord, "stage" | "newRan" | "attempts">): readonly [UpgradeStage, ...UpgradeStage[]] {
  if (isEarly(stage)) return ["giving-up"];
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
