import { bootTime, type Clock } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import type { SidecarSettings } from "../settings.ts";
import { createEditRate } from "./config/audited-config.ts";
import { createConfigVersions } from "./config/config-versions.ts";
import { createCorrectionRate } from "./config/correction-rate.ts";
import { limitVersions } from "./config/with-deadline.ts";
import { createRestartBudget } from "./restart/restart-budget.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";

/** Persistent parts of an upkeep: its state and the versions of node.conf, both on disk, and the rates at which restarts, corrections and edits occur. */
export type StoredParts = ReturnType<typeof openStoredParts>;

/** Opens the persistent parts in the state directory; calls `wake` when the directory's file system recovers. */
export function openStoredParts(
  { upkeep, restart }: SidecarSettings,
  { state, clock, signal, wake }: Readonly<{ state: UpkeepState; clock: Clock; signal: AbortSignal; wake: () => void }>,
) {
  const stateDeadline = createFileDeadline({ withinMs: upkeep.fileTimeoutMs, signal }, { clock, onBack: wake });
  return {
    state,
    /** Limits calls to the file system that holds the state. */
    stateDeadline,
    versions: limitVersions(createConfigVersions(state.directory), state.directory, stateDeadline),
    budget: createRestartBudget({ perHour: restart.budgetPerHour }, { store: state.store, clock, boot: bootTime }),
    /** Rate at which node.conf is corrected; `edits` is the rate of external edits. */
    rate: createCorrectionRate(clock),
    edits: createEditRate(clock),
  };
}
