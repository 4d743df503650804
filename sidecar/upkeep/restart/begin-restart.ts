import type { ServiceContext } from "#daemon/service.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { SidecarSettings } from "../../settings.ts";
import { saveHealthyConfig } from "../config/healthy-config.ts";
import type { NodeLocation } from "../config/node-location.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { HeldState } from "../state/upkeep-state.ts";
import { prepareProcessCheck } from "./process-watch.ts";
import { createStartRecorder } from "./record-start.ts";
import type { ObservedProcess, ObservedRestarts } from "./restart-observation.ts";
import type { DueRestart } from "./restart-decision.ts";
import { runRestart, type RestartIncident, type RestartIncidentDependencies } from "./restart-incident.ts";
import { rollBack } from "./roll-back.ts";

export type BeginRestartDependencies = Pick<
  RestartIncidentDependencies,
  "budget" | "clock" | "command" | "events" | "lastPush" | "log" | "state" | "versions"
> &
  Readonly<{
    settings: SidecarSettings;
    place: Pick<NodeLocation, "layout" | "lock" | "fileDeadline">;
    health: Pick<HealthWatch, "check">;
    metrics: Readonly<{ restarted: (cause: string) => void }>;
    /** Runs node_cli. */
    observer: Readonly<{ check: (signal: AbortSignal) => Promise<void> }>;
    finishes: ServiceContext["finishes"];
    /** Requests another reconcile. */
    wake: () => void;
    signal: AbortSignal;
  }>;

/** Observations that a restart records for the iterations. */
export type RestartSeen = Readonly<{ restarts: ObservedRestarts; process: ObservedProcess }>;

/** Starts a restart, which ends with either a verification or a rollback. */
export function startRestart(
  due: DueRestart,
  { desired, driver }: Readonly<{ desired: HeldState; driver: NodeDriver }>,
  { restarts, process }: RestartSeen,
  dependencies: BeginRestartDependencies,
): void {
  const { settings, health, place, metrics, observer, finishes, wake, signal, log } = dependencies;
  const { answersWithinMs, healthyWithinMs, metricsWithinMs, timeoutMs } = settings.restart;
  const incident = {
    reason: due.reason,
    firstReason: due.firstReason ?? due.reason,
    isAlreadyCommanded: due.cause === "unverified",
    isFinishing: due.cause === "interrupted",
    desired,
    configPath: place.layout().configPath,
    pathsDirectory: place.layout().pathsDirectory,
    configLimitBytes: settings.upkeep.configLimitBytes,
    answersWithinMs,
    healthyWithinMs,
    metricsWithinMs,
    signal,
  };
  metrics.restarted(due.cause);
  const running = restartOrGoBack(incident, {
    ...dependencies,
    lock: place.lock(),
    fileDeadline: place.fileDeadline,
    driver,
    check: health.check,
    beforeRestart: () => prepareProcessCheck(driver),
    waitsFor: (stage) => {
      restarts.note({ stage });
      wake();
    },
    starts: createStartRecorder(dependencies),
    rememberHealthy: (bytes) => rememberVerified(bytes, restarts, dependencies),
  })
    .catch((error: unknown) => holdAfterError(error as Error, incident, dependencies))
    .finally(() => {
      process.note({ unhealthy: undefined, unresponsive: undefined });
      restarts.note({ running: undefined, stage: undefined });
      wake();
    });
  restarts.note({ running });
  // A shutdown in the middle would leave the node down. The wait for the node's exit, the stop command and the start command each have
  // their own time limit.
  finishes({ what: "the restart of the node", done: running, withinMs: 3 * timeoutMs });
  // node_cli's last response is outdated after a restart, and the next periodic check may be far off.
  running
    .then(() => observer.check(signal))
    .catch((error: unknown) =>
      log.error({ event: "node-cli-check-failed", err: error }, "running node_cli after a restart failed"),
    );
}

/** Sets a pause after an unexpected error: if the restart were retried at once, it would use up the budget and fail in the same way. */
function holdAfterError(
  error: Error,
  { desired, firstReason, signal }: Pick<RestartIncident, "desired" | "firstReason" | "signal">,
  { state, events, clock, log }: Pick<BeginRestartDependencies, "state" | "events" | "clock" | "log">,
): void {
  log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
  // The next sidecar continues where this one stopped.
  if (signal.aborted) return;
  const message = `A restart of the node was aborted: ${error.message} See the event restart-failed in the sidecar's log, and check whether the node runs.`;
  state.atomically(() => {
    state.hold.set({ desired, message, sinceMs: clock.wallMs(), failed: { reason: firstReason } });
    state.restartInFlight.set(undefined);
    events.fail("hold", "A restart of the node was aborted.", error.message, { by: "sidecar" });
  });
}

/** Retains the node.conf with which a restart was verified. */
async function rememberVerified(
  bytes: Uint8Array,
  restarts: ObservedRestarts,
  dependencies: Pick<BeginRestartDependencies, "versions" | "state" | "clock" | "log" | "events">,
): Promise<void> {
  const isKept = await saveHealthyConfig(bytes, "advanced", dependencies);
  restarts.note({ kept: undefined });
  if (isKept) return;
  const message =
    "The healthy configuration could not be stored: a rollback would restore an older one. Make upkeep.stateDirectory writable.";
  dependencies.events.add("restart", message, undefined, { by: "sidecar", outcome: "failure" });
}

async function restartOrGoBack(incident: RestartIncident, dependencies: RestartIncidentDependencies): Promise<void> {
  const { failure } = await runRestart(incident, dependencies);
  if (failure !== undefined) await rollBack(incident, failure, dependencies);
}
