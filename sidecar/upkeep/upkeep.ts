import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Permissions } from "./adoption/authority.ts";
import { deriveConfigReconciled, type ConfigState } from "./config/config-observation.ts";
import { createUpkeepControl } from "./control/upkeep-control.ts";
import type { SidecarSettings } from "../settings.ts";
import { findOpsLocation } from "./drivers/ops-location.ts";
import { createUpkeepParts, type UpkeepDependencies } from "./upkeep-parts.ts";
import { listRunning } from "./observations.ts";
import { findDataPath } from "#node/conf/node-values.ts";
import { withNodeNames } from "#node/node-names.ts";
import type { ProgramIdentity } from "#node/versions.ts";
import { createIterationMetrics } from "./upkeep-metrics.ts";
import { watchIterations, type IterationWatch } from "./iteration-watch.ts";
import { createIteration } from "./iteration.ts";
import type { Logger } from "#daemon/log/log.ts";
import { waitForAbort } from "#daemon/process/stop-signal.ts";
import { pause, pauseWhileRunning } from "#daemon/time.ts";

/** Upkeep of one node. Disposing of it stops the iterations and waits for a running restart command. */
export type Upkeep = Awaited<ReturnType<typeof startUpkeep>>;

/** @throws {StartupError} when the settings specify no node. */
export async function startUpkeep(settings: SidecarSettings, dependencies: UpkeepDependencies) {
  const { log, clock, state, health } = dependencies;
  const stopController = new AbortController();
  const { signal } = stopController;
  let wakeLoop: (() => void) | undefined;
  const wake = () => wakeLoop?.();
  const parts = await createUpkeepParts(settings, dependencies, signal, wake);
  const { authority, seen, place, observer } = parts;
  // Acquired at startup, so that no other sidecar starts in parallel. A problem with the lock is reported only when the lock is needed.
  if (settings.upkeep.mode !== "observe") place.lock().acquire();
  const isHeld = () => state.hold.get() !== undefined;
  parts.metrics.commands(parts.command);
  // The first iteration waits for the version that the RPC reports.
  void health.firstCheckDone.then(wake);
  const { rereadIntervalMs: maxIdleMs, passDeadlineMs: deadlineMs } = settings.upkeep;
  const metrics = createIterationMetrics(dependencies.metrics);
  const watch = watchIterations({ deadlineMs }, seen.iterations, { clock, metrics });
  const { progress, run } = createIteration(parts, watch);
  const waitsFor = () => progress.step;
  const loop = startReconcileLoop({ maxIdleMs, deadlineMs, signal }, run, { log, watch, waitsFor });
  wakeLoop = loop.wake;
  return {
    wake,
    withNodeNames: <Value extends object>(value: Value) => withNodeNames(value, place.layout()),
    program: (): ProgramIdentity => observer.version(),
    /** Returns the directory that holds the node's data; undefined until node.conf or the settings specify it. */
    dataPath: () => {
      const { value } = seen.config.now().document ?? {};
      return value && findDataPath(settings.node.dataPath, place.layout().pathsDirectory, value);
    },
    places: () => ({ ...place.layout(), ops: findOpsLocation(settings, place.layout()) }),
    restarts: () => ({ used: parts.budget.used(), perHour: settings.restart.budgetPerHour }),
    /** Whether the sidecar may make changes now: it has the authority, and no pause is active. */
    mayAct: () => authority() === "acts" && !isHeld(),
    configured: () =>
      checkConfigured({ passed: progress.passed, authority: authority(), isHeld: isHeld(), config: seen.config.now() }),
    control: createUpkeepControl(parts),
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      await Promise.all([loop.done, parts.watching, ...listRunning(seen)]);
      await parts[Symbol.asyncDispose]();
    },
  };
}

/** Only the running node can report its version, so blocking its start until the version is known would deadlock. */
const reportsItself =
  "The node's version is unknown; node.conf is valid for at least one version, so the node may start and report its own. To check the keys before that, set node.version (GATEHOUSE_SIDECAR_NODE_VERSION).";
const pausedNote =
  "node.conf needs changes for every known version, so a node that waits for /startupz does not start and can't report its version.";

type StartSituation = Readonly<{
  passed: boolean;
  authority: Permissions;
  isHeld: boolean;
  config: Pick<ConfigState, "validity" | "comparison" | "mayReportVersion">;
}>;

/** Whether the configuration is valid, so that the node may start; served as `/startupz`. Pure. */
function checkConfigured({ passed, authority, isHeld, config }: StartSituation): ReadinessCheck {
  if (!passed) return { ok: false, message: "The configuration has not been checked yet." };
  if (authority === "observes") return { ok: true, message: "upkeep.mode is observe." };
  // A node that is awaiting an operator's approval may never start; in a pod, the sidecar would be restarted in the meantime.
  if (authority === "waits") return { ok: true, message: "The sidecar changes nothing until you run gatehouse adopt." };
  if (isHeld) return { ok: true, message: "Gatehouse is paused." };
  if (config.mayReportVersion) return { ok: true, message: reportsItself };
  const reconciledReport = deriveConfigReconciled(config);
  if (reconciledReport === undefined) return { ok: false, message: "node.conf is not valid yet." };
  const { status, reason, message } = reconciledReport;
  if (reason === "VersionUnknown") return { ok: false, message: `${message} ${pausedNote}` };
  return { ok: status === "True", message };
}

type ReconcileLoopOptions = Readonly<{
  maxIdleMs: number;
  /** Time, while this process is running, after which an iteration counts as hung. */
  deadlineMs: number;
  signal: AbortSignal;
}>;

type ReconcileLoopDependencies = Readonly<{
  log: Logger;
  watch: IterationWatch;
  waitsFor: () => string;
}>;

const retryMs = 1_000;

const stopWithinMs = 2_000;

/**
 * Runs iterations: at once, on each wake-up, and when the last one requested it. Events only wake the loop. A hung iteration is reported
 * after its deadline; no other runs in parallel, and a shutdown doesn't wait for it.
 */
function startReconcileLoop(
  { maxIdleMs, deadlineMs, signal }: ReconcileLoopOptions,
  pass: () => Promise<Readonly<{ wakeInMs?: number }>>,
  { log, watch, waitsFor }: ReconcileLoopDependencies,
) {
  let wakeController = new AbortController();
  const attempt = async (): Promise<number> => {
    try {
      const { wakeInMs } = await pass();
      return Math.min(maxIdleMs, Math.max(1, wakeInMs ?? maxIdleMs));
    } catch (error) {
      if (signal.aborted) return 0;
      log.error({ event: "reconcile-failed", err: error }, "a reconcile failed; retrying");
      watch.failed(error);
      return Math.min(maxIdleMs, retryMs);
    }
  };
  const run = async () => {
    while (!signal.aborted) {
      wakeController = new AbortController();
      const over = new AbortController();
      const made = attempt().finally(() => over.abort());
      await pauseWhileRunning(deadlineMs, AbortSignal.any([signal, over.signal]));
      if (!over.signal.aborted && !signal.aborted) watch.late(waitsFor());
      const waitMs = await Promise.race([made, waitForStop(signal, over.signal)]);
      await pause(waitMs, AbortSignal.any([signal, wakeController.signal]));
    }
  };
  return {
    wake: () => wakeController.abort(),
    done: run(),
  };
}

/** Waits until `stopWithinMs` after the shutdown was requested, or until the iteration ends. */
async function waitForStop(stopping: AbortSignal, over: AbortSignal): Promise<number> {
  await waitForAbort(AbortSignal.any([stopping, over]));
  await pause(stopWithinMs, over);
  return 0;
}
