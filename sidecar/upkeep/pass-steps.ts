import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { Charts } from "#status/charts.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "../settings.ts";
import { explainInaction, type Authority } from "./adoption/authority.ts";
import type { ClockThen } from "./clock-reading.ts";
import type { CommandText } from "./command-text.ts";
import { createConfigStep } from "./config/config-step.ts";
import { watchData, type DataWatch } from "./corruption/watch-data.ts";
import type { StoredParts } from "./stored-parts.ts";
import type { Observations } from "./observations.ts";
import type { IterationSteps } from "./pass.ts";
import { createPlanStep } from "./plan-step.ts";
import { applyPrune } from "./prune/apply-prune.ts";
import type { MaintenanceWindow } from "./restart/maintenance-window.ts";
import { createRestartStep } from "./restart/restart-step.ts";
import type { VerificationDependencies } from "./restart/restart-verification.ts";
import { checkState } from "./state/state-observation.ts";
import { applyUpgrade } from "./upgrade/apply-upgrade.ts";
import type { UpkeepMetrics } from "./upkeep-metrics.ts";
import type { UpkeepNode } from "./upkeep-node.ts";
import { createVersionStep } from "./version/version-step.ts";

/** Dependencies shared by all parts of an upkeep. */
export type UpkeepCommon = Readonly<{
  settings: SidecarSettings;
  clock: Clock;
  log: Logger;
  events: EventLog;
  health: HealthWatch;
  /** Aborted when the upkeep stops. */
  signal: AbortSignal;
  /** Requests a reconcile. */
  wake: () => void;
}>;

/** Parts from which the steps are built; each step takes the parts listed in its own type. */
export type StepParts = Readonly<{
  common: UpkeepCommon;
  node: UpkeepNode;
  kept: StoredParts;
  authority: () => Authority;
  isRestarting: () => boolean;
  command: CommandText;
  metrics: UpkeepMetrics;
  charts: Charts;
  window: MaintenanceWindow;
  /** Both clocks when the upkeep started. */
  clockThen: ClockThen;
  lastPush: VerificationDependencies["lastPush"];
  finishes: ServiceContext["finishes"];
}>;

export function createIterationSteps(seen: Observations, parts: StepParts): IterationSteps {
  const { common, node, kept, authority, isRestarting, command, metrics, clockThen, lastPush, window, finishes } =
    parts;
  const { settings } = common;
  const { place } = node;
  const { state } = kept;
  const restarting = { ...common, ...node, ...kept, command, metrics, clockThen, lastPush, window, finishes };
  return {
    state: { directory: state.directory, check: () => checkState(seen.config.now().goodNotKept, seen.state, kept) },
    version: createVersionStep(seen.version, { ...common, ...node }),
    authority: { decide: authority, explainInaction: (now) => explainInaction(now, state) },
    config: createConfigStep(settings.upkeep, seen.config, {
      ...common,
      ...kept,
      place,
      metrics,
      clockThen,
      isRestarting,
    }),
    plan: createPlanStep(seen, { ...common, ...kept, ...node }),
    upgrade: createUpgradeStep(seen, parts),
    prune: createPruneStep(seen, parts),
    restart: createRestartStep(seen, restarting),
    data: createDataStep(seen, parts),
  };
}

function createUpgradeStep(
  seen: Observations,
  { common, node, kept, metrics, lastPush, finishes }: StepParts,
): IterationSteps["upgrade"] {
  return {
    apply: (allowed) => applyUpgrade(allowed, seen, { ...common, ...node, ...kept, metrics, lastPush, finishes }),
  };
}

function createPruneStep(
  { prune }: Pick<Observations, "prune">,
  { common, node, metrics, charts, isRestarting }: StepParts,
): IterationSteps["prune"] {
  const { settings, signal } = common;
  const { stalledAfterMs } = settings.prune;
  const dependencies = { ...common, ...node, metrics, charts };
  return {
    apply: (planned, idle) =>
      applyPrune(planned, prune, { idle, isRestarting: isRestarting(), stalledAfterMs, signal }, dependencies),
    isRunning: () => prune.now().running !== undefined,
  };
}

function createDataStep(seen: Observations, { common, node, kept }: StepParts): IterationSteps["data"] {
  const watch: DataWatch = {};
  const dependencies = { ...common, ...node, ...kept };
  return { watch: () => watchData(watch, seen, dependencies) };
}
