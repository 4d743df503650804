import { createObservation } from "#health/observation.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { SidecarSettings } from "../settings.ts";
import { derivePauseConditions, type AdoptionState } from "./adoption/adoption-observation.ts";
import type { CommandText } from "./command-text.ts";
import { deriveConfigConditions, type ConfigState } from "./config/config-observation.ts";
import { deriveDataConditions, type DataState } from "./corruption/data-observation.ts";
import { deriveReconcileConditions, type IterationState } from "./iteration-watch.ts";
import { derivePruneConditions, type PruningState } from "./prune/prune-observation.ts";
import {
  deriveRestartConditions,
  type ProcessState,
  type RestartState,
  type RestartText,
} from "./restart/restart-observation.ts";
import type { StoreState } from "./state/state-observation.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import { deriveUpgradeConditions, type UpgradeState } from "./upgrade/upgrade-observation.ts";
import { deriveVersionConditions, type VersionState } from "./version/version-observation.ts";

export type Observations = ReturnType<typeof createObservations>;

export function createObservations(
  { directory, upgrade, dataEvidence }: Pick<UpkeepState, "directory" | "upgrade" | "dataEvidence">,
  onChange: () => void,
) {
  return {
    iterations: createObservation<IterationState>({}, onChange),
    stored: createObservation<StoreState>({ directory, isChecked: false }, onChange),
    version: createObservation<VersionState>({}, onChange),
    config: createObservation<ConfigState>(
      { contentSinceMs: 0, otherAtMs: 0, mayReportVersion: false, corrected: [] },
      onChange,
    ),
    adoption: createObservation<AdoptionState>({}, onChange),
    prune: createObservation<PruningState>({}, onChange),
    process: createObservation<ProcessState>({
      wasSeen: dataEvidence.get()?.mark?.process !== undefined,
      hasEnded: false,
    }),
    restarts: createObservation<RestartState>({}, onChange),
    upgrade: createObservation<UpgradeState>(
      { agreedMs: undefined, blocked: undefined, record: upgrade.get() },
      onChange,
    ),
    data: createObservation<DataState>({}, onChange),
  };
}

/** Creates empty observations; each change is published to the board at once. */
export function observeAll(state: UpkeepState, texts: ConditionText, board: ConditionBoard): Observations {
  const seen = createObservations(state, () => {
    for (const condition of deriveConditions(seen, texts)) board.set(condition);
  });
  return seen;
}

export function listRunning({ restarts, prune, data }: Observations) {
  return [restarts.now().running, prune.now().running, data.now().pendingCheck];
}

export type ConditionText = RestartText & Readonly<{ mode: SidecarSettings["upkeep"]["mode"]; command: CommandText }>;

/** Derives the conditions; those not checked yet are omitted. Watches outside of reconciliation (RPC, node_cli, pushes, disk) set their own. */
export function deriveConditions(
  seen: Omit<Observations, "process">,
  { mode, command, restartCommand }: ConditionText,
): readonly ConditionReport[] {
  const restarts = seen.restarts.now();
  return [
    ...deriveReconcileConditions(seen.iterations.now(), seen.stored.now()),
    ...deriveVersionConditions(seen.version.now()),
    ...deriveConfigConditions(seen.config.now(), command),
    ...derivePauseConditions(seen.adoption.now(), restarts, { mode, command }),
    ...derivePruneConditions(seen.prune.now(), command),
    ...deriveRestartConditions(restarts, { restartCommand }),
    ...deriveUpgradeConditions(seen.upgrade.now()),
    ...deriveDataConditions(seen.data.now()),
  ];
}
