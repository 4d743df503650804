import { bootTime, type Clock } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { Charts } from "#status/charts.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "../settings.ts";
import type { Authority } from "./adoption/authority.ts";
import type { PastClock } from "./clock-reading.ts";
import type { CommandText } from "./command-text.ts";
import { createEditRate } from "./config/audited-config.ts";
import { createConfigVersions } from "./config/config-versions.ts";
import { createCorrectionRate } from "./config/correction-rate.ts";
import { limitVersions } from "./config/with-deadline.ts";
import type { MaintenanceWindow } from "./restart/maintenance-window.ts";
import { createRestartBudget } from "./restart/restart-budget.ts";
import type { VerificationDependencies } from "./restart/restart-verification.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import type { UpkeepMetrics } from "./upkeep-metrics.ts";
import type { UpkeepNode } from "./upkeep-node.ts";

/** Persistent parts: the state and the versions of node.conf, both on disk, and the rates at which restarts, corrections and edits occur. */
type StoredParts = ReturnType<typeof openStoredParts>;

/** Opens the persistent parts in the state directory; calls `wake` when the directory's file system recovers. */
export function openStoredParts(
  state: UpkeepState,
  { upkeep, restart }: SidecarSettings,
  { clock, signal, wake }: Readonly<{ clock: Clock; signal: AbortSignal; wake: () => void }>,
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

/** Parts of one upkeep; each of its functions lists the parts that it uses. */
export type UpkeepParts = UpkeepNode &
  StoredParts &
  Readonly<{
    settings: SidecarSettings;
    clock: Clock;
    /** Both clocks when the upkeep started. */
    clockThen: PastClock;
    log: Logger;
    events: EventLog;
    health: HealthWatch;
    metrics: UpkeepMetrics;
    charts: Charts;
    authority: () => Authority;
    isRestarting: () => boolean;
    command: CommandText;
    window: MaintenanceWindow;
    lastPush: VerificationDependencies["lastPush"];
    finishes: ServiceContext["finishes"];
    /** Aborted when the upkeep stops. */
    signal: AbortSignal;
    /** Requests a reconcile. */
    wake: () => void;
  }>;
