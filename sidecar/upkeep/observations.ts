import type { ConditionBoard } from "#status/condition-board.ts";
import type { SidecarSettings } from "../settings.ts";
import { observeAdoption, type ObservedAdoption } from "./adoption/adoption-observation.ts";
import type { CommandText } from "./command-text.ts";
import { deriveConditions } from "./conditions.ts";
import { observeConfig, type ObservedConfig } from "./config/config-observation.ts";
import { observeData, type ObservedData } from "./corruption/data-observation.ts";
import { observeIterations, type ObservedIterations } from "./pass-watch.ts";
import { observePruning, type ObservedPruning } from "./prune/prune-observation.ts";
import {
  observeProcess,
  observeRestarts,
  type ObservedProcess,
  type ObservedRestarts,
} from "./restart/restart-observation.ts";
import { observeState, type ObservedState } from "./state/state-observation.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import { observeUpgrade, type ObservedUpgrade } from "./upgrade/upgrade-observation.ts";
import { observeVersion, type ObservedVersion } from "./version/version-observation.ts";

/** Findings that each iteration leaves for the next one, by subject. */
export type Observations = Readonly<{
  iterations: ObservedIterations;
  state: ObservedState;
  version: ObservedVersion;
  config: ObservedConfig;
  adoption: ObservedAdoption;
  prune: ObservedPruning;
  process: ObservedProcess;
  restarts: ObservedRestarts;
  upgrade: ObservedUpgrade;
  data: ObservedData;
}>;

/** Creates empty observations; each change is published to the board at once. */
export function observeAll(
  { directory, upgrade, dataEvidence }: UpkeepState,
  { upkeep, restart }: SidecarSettings,
  command: CommandText,
  board: ConditionBoard,
): Observations {
  const words = { mode: upkeep.mode, driver: restart.driver, command };
  const say = () => {
    const found = {
      iterations: seen.iterations.now(),
      state: seen.state.now(),
      version: seen.version.now(),
      config: seen.config.now(),
      adoption: seen.adoption.now(),
      prune: seen.prune.now(),
      restarts: seen.restarts.now(),
      upgrade: seen.upgrade.now(),
      data: seen.data.now(),
    };
    for (const condition of deriveConditions(found, words)) board.set(condition);
  };
  const seen = {
    iterations: observeIterations(say),
    state: observeState(directory, say),
    version: observeVersion(say),
    config: observeConfig(say),
    adoption: observeAdoption(say),
    prune: observePruning(say),
    process: observeProcess({ wasSeen: dataEvidence.get()?.mark?.process !== undefined }),
    restarts: observeRestarts(say),
    upgrade: observeUpgrade(upgrade.get(), say),
    data: observeData(say),
  };
  return seen;
}

/** Lists the work that runs in parallel with the iterations. */
export function listRunning({ restarts, prune, data }: Observations) {
  return [restarts.now().running, prune.now().running, data.now().looking];
}
