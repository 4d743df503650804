import type { Authority } from "./adoption/authority.ts";
import type { ConfigStep } from "./config/config-step.ts";
import type { PassWatch } from "./pass-watch.ts";
import type { Plan } from "./plan/plan.ts";
import type { PlanStep } from "./plan-step.ts";
import type { RestartStep } from "./restart/restart-step.ts";
import type { VersionStep } from "./version/version-step.ts";

/** Steps of a pass, each created once with its dependencies; a step reads and notes the observations of its noun. */
export type PassSteps = Readonly<{
  state: Readonly<{ directory: string; look: () => Promise<void> }>;
  version: VersionStep;
  authority: Readonly<{
    decide: () => Authority;
    /** Returns why the sidecar changes nothing now; undefined if it may. */
    explainIdle: (authority: Authority) => string | undefined;
  }>;
  config: ConfigStep;
  plan: PlanStep;
  upgrade: Readonly<{
    apply: (authority: Authority) => void;
  }>;
  prune: Readonly<{ apply: (planned: Plan, idle: string | undefined) => void; isRunning: () => boolean }>;
  restart: RestartStep;
  /** Returns the time until the next pass that the data need, in ms. */
  data: Readonly<{ watch: () => number | undefined }>;
}>;

export type PassProgress = {
  /** Work of the running pass, as in "reading node.conf". */
  step: string;
  /** Whether a whole pass has been made. */
  passed: boolean;
};

/** Time until the next pass, if it is wanted sooner than the regular one. */
export type PassResult = Readonly<{ wakeInMs?: number }>;

/** Time until the next check whether the node has reported its version, if nothing wakes the loop before. */
const lookAgainMs = 1_000;

/** Nothing was learned of node.conf, so nothing that depends on it can be reported or done. */
class NothingSeen extends Error {
  override readonly name = "NothingSeen";
  readonly code = "nothing_seen";
}

/**
 * Makes one pass: observe, plan, apply. Its findings are noted; the conditions are derived from them.
 *
 * @throws {NothingSeen} when node.conf's file system hangs.
 */
export async function runPass(progress: PassProgress, steps: PassSteps, watch: PassWatch): Promise<PassResult> {
  const { state, config, restart } = steps;
  const isFirst = !progress.passed;
  restart.forgetLook();
  progress.step = `looking at the state directory ${state.directory}`;
  await state.look();
  const followed = await steps.version();
  if (followed === undefined) return { wakeInMs: lookAgainMs };
  const { resolution, moved, doubtOfPlace } = followed;
  const { version } = resolution;
  const authority = steps.authority.decide();
  const path = config.path();
  progress.step = `reading ${path}`;
  const look = await config.read();
  const { reading } = look;
  const isHanging = !reading.ok && reading.problem.reason === "Unresponsive";
  // Renewing the watch queries the file system without a time limit.
  if (!moved && !isHanging) await config.renewWatch(reading, { isFirst });
  progress.step = `judging ${path}`;
  const judged = await config.judge(look, authority);
  if (isHanging) throw new NothingSeen(`${path} can't be looked at, because its file system hangs`);
  if (isFirst && authority === "acts") await config.tidy();
  await config.keepBefore(reading, { isFirst });
  if (judged.again) return { wakeInMs: 1 };
  const { planned, desired } = await steps.plan(reading, { resolution, doubtOfPlace });
  steps.upgrade.apply(authority);
  progress.step = `remembering what the node runs with in ${state.directory}`;
  await restart.remember(reading, version);
  // Asked once a pass: what was adopted in the middle of one is done in the next.
  const idle = steps.authority.explainIdle(authority);
  progress.step = `writing ${path}`;
  const written = await config.write(planned, reading, { idle, judged, version });
  if (written?.again === true) {
    // Another program that keeps writing node.conf has the node looked at again and again, and never further than this.
    watch.made();
    return { wakeInMs: 1 };
  }
  // What can't be undone is not begun at a node whose node.conf is not found: it may be another node, or none.
  steps.prune.apply(planned, idle ?? (reading.ok ? undefined : "node.conf can't be used (ConfigValid)"));
  progress.step = `querying the driver ${restart.driverName} about the node`;
  const { isRunning: isPruning } = steps.prune;
  const restarted = await restart.apply({ planned, reading, version, desired, authority, isPruning });
  const looks = steps.data.watch();
  progress.passed = true;
  watch.made();
  const waits = [judged.wakeInMs, written?.wakeInMs, restarted.wakeInMs, looks].filter((ms) => ms !== undefined);
  return waits.length === 0 ? {} : { wakeInMs: Math.min(...waits) };
}
