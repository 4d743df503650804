import type { Registry } from "prom-client";
import { bootTime, type Clock } from "#daemon/clock.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { ReleaseCommits } from "#node/versions.ts";
import type { Charts } from "#status/charts.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "../settings.ts";
import { decideAuthority } from "./adoption/authority.ts";
import { readClocks } from "./clock-reading.ts";
import type { CommandText } from "./command-text.ts";
import { createEditRate } from "./config/audited-config.ts";
import { createConfigVersions, limitVersions } from "./config/config-versions.ts";
import { createCorrectionRate } from "./config/correction-rate.ts";
import type { Observations } from "./observations.ts";
import { createMaintenanceWindow } from "./restart/restart-decision.ts";
import { createRestartBudget } from "./restart/restart-budget.ts";
import type { VerificationDependencies } from "./restart/restart-verification.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";
import { createUpkeepMetrics } from "./upkeep-metrics.ts";
import type { UpkeepNode } from "./upkeep-node.ts";

export type UpkeepDependencies = Readonly<{
  log: Logger;
  metrics: Registry;
  clock: Clock;
  send: SendRequest;
  state: UpkeepState;
  events: EventLog;
  charts: Charts;
  board: ConditionBoard;
  health: HealthWatch;
  listedCommits: () => ReleaseCommits;
  /** Called for each restart, so that a shutdown waits for the restart's command to finish. */
  finishes: ServiceContext["finishes"];
}>;

type UpkeepBasis = Readonly<{
  node: UpkeepNode;
  seen: Observations;
  command: CommandText;
  lastPush: VerificationDependencies["lastPush"];
  signal: AbortSignal;
  wake: () => void;
}>;

export type UpkeepParts = ReturnType<typeof createUpkeepParts>;

export function createUpkeepParts(
  settings: SidecarSettings,
  { metrics, ...dependencies }: UpkeepDependencies,
  { node, seen, ...basis }: UpkeepBasis,
) {
  const { state, clock } = dependencies;
  const { signal, wake } = basis;
  const { mode, fileTimeoutMs: withinMs } = settings.upkeep;
  const stateDeadline = createFileDeadline({ withinMs, signal }, { clock, onBack: wake });
  const versions = createConfigVersions(state.directory);
  return {
    ...dependencies,
    ...basis,
    ...node,
    settings,
    clockThen: readClocks(clock),
    metrics: createUpkeepMetrics(metrics),
    /** Limits calls to the file system that holds the state. */
    stateDeadline,
    versions: limitVersions(versions, state.directory, stateDeadline),
    budget: createRestartBudget(
      { perHour: settings.restart.budgetPerHour },
      { store: state.store, clock, boot: bootTime },
    ),
    /** Rate at which node.conf is corrected; `edits` is the rate of external edits. */
    rate: createCorrectionRate(clock),
    edits: createEditRate(clock),
    window: createMaintenanceWindow(settings.restart),
    authority: () => decideAuthority(mode, state),
    isRestarting: () => seen.restarts.now().running !== undefined,
  };
}
