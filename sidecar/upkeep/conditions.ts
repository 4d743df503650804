import type { ConditionReport } from "#status/condition.ts";
import type { SidecarSettings } from "../settings.ts";
import { derivePauseConditions, type AdoptionObservation } from "./adoption/adoption-observation.ts";
import type { CommandText } from "./command-text.ts";
import { deriveConfigConditions } from "./config/config-conditions.ts";
import type { ConfigObservation } from "./config/config-observation.ts";
import { deriveDataConditions, type DataObservation } from "./corruption/data-observation.ts";
import { deriveReconcileConditions, type IterationObservation } from "./pass-watch.ts";
import { derivePruneConditions, type PruneObservation } from "./prune/prune-observation.ts";
import { deriveRestartConditions } from "./restart/restart-conditions.ts";
import type { RestartObservation } from "./restart/restart-observation.ts";
import type { StateObservation } from "./state/state-observation.ts";
import { deriveUpgradeConditions, type UpgradeObservation } from "./upgrade/upgrade-observation.ts";
import { deriveVersionConditions, type VersionObservation } from "./version/version-observation.ts";

/** Findings of the reconcile iterations, by subject. */
export type Observations = Readonly<{
  iterations: IterationObservation;
  state: StateObservation;
  version: VersionObservation;
  config: ConfigObservation;
  adoption: AdoptionObservation;
  prune: PruneObservation;
  restarts: RestartObservation;
  upgrade: UpgradeObservation;
  data: DataObservation;
}>;

/** Settings and commands that appear in the conditions' messages. */
export type ConditionText = Readonly<{
  mode: SidecarSettings["upkeep"]["mode"];
  driver: SidecarSettings["restart"]["driver"];
  command: CommandText;
}>;

/**
 * Derives the node's conditions from what reconciliation has found; omits conditions that haven't been checked yet. Pure. The watches
 * outside of reconciliation (RPC, node_cli, pushes, disk) set their own conditions.
 */
export function deriveConditions(
  seen: Observations,
  { mode, driver, command }: ConditionText,
): readonly ConditionReport[] {
  return [
    ...deriveReconcileConditions(seen.iterations, seen.state),
    ...deriveVersionConditions(seen.version),
    ...deriveConfigConditions(seen.config, command),
    ...derivePauseConditions(seen.adoption, seen.restarts, { mode, command }),
    ...derivePruneConditions(seen.prune),
    ...deriveRestartConditions(seen.restarts, { driver }),
    ...deriveUpgradeConditions(seen.upgrade),
    ...deriveDataConditions(seen.data),
  ];
}
