import type { NodeDriver } from "../drivers/driver.ts";
import type { PauseBasis } from "../state/upkeep-state.ts";
import { prepareProcessCheck } from "./process-watch.ts";
import { createStartRecorder } from "./record-start.ts";
import type { RestartContext } from "./restart-context.ts";
import type { DueRestart } from "./restart-decision.ts";
import { runRestart, type RestartIncident } from "./restart-incident.ts";
import { rollBack } from "./roll-back.ts";

/** Starts a restart, which ends with either a verification or a rollback. */
export function startRestart(
  due: DueRestart,
  context: RestartContext & Readonly<{ driver: NodeDriver; desired: PauseBasis }>,
): void {
  const { settings, health, place, process, restarts, driver, metrics, observer, wake, signal, log } = context;
  const { answersWithinMs, healthyWithinMs, metricsWithinMs, timeoutMs } = settings.restart;
  const { configPath, pathsDirectory } = place.layout();
  const incident: RestartIncident = {
    ...context,
    reason: due.reason,
    firstReason: due.firstReason ?? due.reason,
    isAlreadyCommanded: due.cause === "unverified",
    isFinishing: due.cause === "interrupted",
    configPath,
    pathsDirectory,
    configLimitBytes: settings.upkeep.configLimitBytes,
    answersWithinMs,
    healthyWithinMs,
    metricsWithinMs,
    lock: place.lock(),
    fileDeadline: place.fileDeadline,
    check: health.check,
    beforeRestart: () => prepareProcessCheck(driver),
    waitsFor: (stage) => {
      restarts.note({ stage });
      wake();
    },
    starts: createStartRecorder(context),
  };
  metrics.restarted(due.cause);
  const running = restartOrGoBack(incident)
    .catch((error: unknown) => holdAfterError(error as Error, incident))
    .finally(() => {
      process.note({ unhealthy: undefined, unresponsive: undefined });
      restarts.note({ running: undefined, stage: undefined });
      wake();
    });
  restarts.note({ running });
  // A shutdown in the middle would leave the node down. The wait for the node's exit, the stop command and the start command each have
  // their own time limit.
  context.finishes({ what: "the restart of the node", done: running, withinMs: 3 * timeoutMs });
  // node_cli's last response is outdated after a restart, and the next periodic check may be far off.
  running
    .then(() => observer.check(signal))
    .catch((error: unknown) =>
      log.error({ event: "node-cli-check-failed", err: error }, "running node_cli after a restart failed"),
    );
}

async function restartOrGoBack(incident: RestartIncident): Promise<void> {
  const { failure } = await runRestart(incident);
  if (failure !== undefined) await rollBack(incident, failure);
}

/** Sets a pause after an unexpected error: if the restart were retried at once, it would use up the budget and fail in the same way. */
function holdAfterError(
  error: Error,
  { desired, firstReason, signal, state, events, clock, log }: RestartIncident,
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
