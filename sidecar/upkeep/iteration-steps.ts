import type { NodeVersion } from "#node/versions.ts";
import { explainInaction, type Authority } from "./adoption/authority.ts";
import type { ConfigReading } from "./config/config-file.ts";
import { createConfigStep } from "./config/config-step.ts";
import { watchData, type DataWatch } from "./corruption/watch-data.ts";
import type { Observations } from "./observations.ts";
import { planChanges, type PlanRequest } from "./plan-step.ts";
import type { Plan } from "./plan/plan.ts";
import { applyPrune } from "./prune/apply-prune.ts";
import { applyRestart, type RestartRequest } from "./restart/apply-restart.ts";
import { recordRollback } from "./restart/roll-back.ts";
import { recordRunningConfig } from "./restart/running-config.ts";
import { checkState } from "./state/state-observation.ts";
import { applyUpgrade } from "./upgrade/apply-upgrade.ts";
import type { UpkeepParts } from "./upkeep-parts.ts";
import { trackVersion } from "./version/version-observation.ts";

export type IterationSteps = ReturnType<typeof createIterationSteps>;

/** Creates the steps of an iteration. A step reads and records the observations of its own subject. */
export function createIterationSteps(seen: Observations, parts: UpkeepParts) {
  const { settings, state, driver, signal, isRestarting } = parts;
  const { config, process, restarts, prune } = seen;
  const { stalledAfterMs } = settings.prune;
  const context = { ...parts, config, process, restarts };
  const dataWatch: DataWatch = {};
  return {
    state: { directory: state.directory, check: () => checkState(config.now().goodNotKept, seen.state, parts) },
    version: () => trackVersion(seen.version, parts),
    authority: {
      decide: parts.authority,
      /** Returns the reason why the sidecar currently changes nothing; undefined if it may make changes. */
      explainInaction: (authority: Authority) => explainInaction(authority, state),
    },
    config: createConfigStep(context),
    plan: (reading: ConfigReading, request: PlanRequest) => planChanges(reading, request, seen, parts),
    upgrade: { apply: (authority: Authority) => applyUpgrade(authority, seen, parts) },
    prune: {
      apply: (planned: Plan, idle: string | undefined) =>
        applyPrune(planned, prune, { idle, isRestarting: isRestarting(), stalledAfterMs, signal }, parts),
      isRunning: () => prune.now().running !== undefined,
    },
    restart: {
      driverName: driver?.name ?? "none",
      /** Forgets the start that the last iteration found for the node, so that this iteration queries it again. */
      forgetCheck: () => process.note({ started: undefined }),
      /** Retains the node.conf with which the node runs, for a rollback, before any change is made. */
      remember: async (reading: ConfigReading, version: NodeVersion | undefined) => {
        await recordRunningConfig(reading, version, context);
        await recordRollback(context);
      },
      apply: (request: RestartRequest) => applyRestart(request, context),
    },
    /** `watch` returns the time, in ms, until the check of the data needs the next iteration. */
    data: { watch: () => watchData(dataWatch, seen, parts) },
  };
}
