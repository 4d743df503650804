import type { IterationSteps } from "./iteration-steps.ts";
import type { IterationWatch } from "./iteration-watch.ts";

export type IterationProgress = {
  /** Current step of the iteration, as in "reading node.conf". */
  step: string;
  /** Whether a full iteration has completed. */
  passed: boolean;
};

/** Time until the next iteration, if one is needed before the periodic iteration. */
export type IterationResult = Readonly<{ wakeInMs?: number }>;

/** Interval between checks of whether the node has reported its version, unless the loop is woken earlier. */
const checkAgainMs = 1_000;

/** node.conf could not be observed, so nothing that depends on it can be reported or done. */
class NothingSeen extends Error {
  override readonly name = "NothingSeen";
  readonly code = "nothing_seen";
}

/**
 * Runs one iteration: observe, plan, apply. Records its findings, from which the conditions are derived.
 *
 * @throws {NothingSeen} when the file system that holds node.conf hangs.
 */
export async function runIteration(
  progress: IterationProgress,
  steps: IterationSteps,
  watch: IterationWatch,
): Promise<IterationResult> {
  const { state, config, restart } = steps;
  const isFirst = !progress.passed;
  restart.forgetCheck();
  progress.step = `checking the state directory ${state.directory}`;
  await state.check();
  const followed = await steps.version();
  if (followed === undefined) return { wakeInMs: checkAgainMs };
  const { resolution, moved, doubtOfPlace } = followed;
  const { version } = resolution;
  const authority = steps.authority.decide();
  const path = config.path();
  progress.step = `reading ${path}`;
  const check = await config.read();
  const { reading } = check;
  const isHanging = !reading.ok && reading.problem.reason === "Unresponsive";
  // Renewing the watch queries the file system without a time limit.
  if (!moved && !isHanging) await config.renewWatch(reading, { isFirst });
  progress.step = `judging ${path}`;
  const judged = await config.judge(check, authority);
  if (isHanging) throw new NothingSeen(`${path} can't be read, because its file system hangs`);
  if (isFirst && authority === "acts") await config.tidy();
  await config.keepBefore(reading, { isFirst });
  if (judged.again) return { wakeInMs: 1 };
  const { planned, desired } = await steps.plan(reading, { resolution, doubtOfPlace });
  steps.upgrade.apply(authority);
  progress.step = `storing the node's configuration in ${state.directory}`;
  await restart.remember(reading, version);
  // Evaluated once per iteration: an adoption in the middle of an iteration takes effect in the next one.
  const idle = steps.authority.explainInaction(authority);
  progress.step = `writing ${path}`;
  const written = await config.write(planned, reading, { idle, judged, version });
  if (written?.again === true) {
    // If another program keeps writing node.conf, iterations repeat without ever getting past this point, so this iteration counts as
    // complete.
    watch.made();
    return { wakeInMs: 1 };
  }
  // Irreversible work isn't started without a node.conf, because the node may be a different one or may not exist.
  steps.prune.apply(planned, idle ?? (reading.ok ? undefined : "node.conf is invalid (see ConfigReconciled)"));
  progress.step = `querying the driver ${restart.driverName} about the node`;
  const { isRunning: isPruning } = steps.prune;
  const restarted = await restart.apply({ planned, reading, version, desired, authority, isPruning });
  const looks = steps.data.watch();
  progress.passed = true;
  watch.made();
  const waits = [judged.wakeInMs, written?.wakeInMs, restarted.wakeInMs, looks].filter((ms) => ms !== undefined);
  return waits.length === 0 ? {} : { wakeInMs: Math.min(...waits) };
}
