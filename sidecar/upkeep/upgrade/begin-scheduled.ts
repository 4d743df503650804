import type { Logger } from "#daemon/log/log.ts";
import type { ScheduledUpgrade } from "../state/scheduled-upgrade.ts";
import { readSituation, type RequestUpgradeDependencies } from "./request-upgrade.ts";
import { beginUpgrade } from "./begin-upgrade.ts";
import { checkUpgrade } from "./check-upgrade.ts";
import { describeScheduled, type ObservedUpgrade } from "./upgrade-observation.ts";
import { describeStart, judgeStart } from "./upgrade-start.ts";

/** Memory of the passes between two looks at the scheduled upgrade. */
export type ScheduleWatch = {
  /** Upgrade that the rest is about, by when it was accepted (wall clock). */
  acceptedMs?: number;
  /** Time of the last look (monotonic). */
  lookedMs?: number;
  /** Whether its time had come at a look of this process. */
  wasDue?: boolean;
};

export type BeginScheduledDependencies = RequestUpgradeDependencies & Readonly<{ log: Logger }>;

/** Interval of tries to begin an upgrade whose time has come, and of looks at one that waits. */
const tryAgainMs = 5_000;
const lookAheadMs = 3_600_000;

/**
 * Begins the scheduled upgrade when its time has come, checks beforehand whether it could begin, and gives it up once its time is over. Looks go on alongside
 * later passes. Returns the time until the next pass that it needs, in ms.
 */
export function beginScheduled(
  watch: ScheduleWatch,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  dependencies: BeginScheduledDependencies,
): number | undefined {
  const { state, clock, log, signal, wake } = dependencies;
  const scheduled = state.scheduledUpgrade.get();
  if (scheduled === undefined || scheduled.notBegun !== undefined) return undefined;
  if (watch.acceptedMs !== scheduled.acceptedMs) {
    watch.acceptedMs = scheduled.acceptedMs;
    delete watch.lookedMs;
    delete watch.wasDue;
  }
  const situation = readSituation(dependencies);
  seen.upgrade.note({ starts: describeStart(scheduled.start, situation) });
  if (seen.upgrade.now().looking !== undefined) return undefined;
  const judged = judgeStart(scheduled, situation);
  const { trouble } = seen.upgrade.now();
  // A time or a height that was due may come again, after a clock was set back or a head was rolled back; a window that has closed is over.
  const isClosed = scheduled.start.kind === "window" && judged.kind === "wait" && watch.wasDue === true;
  const closed = isClosed ? "the window closed before it could begin" : undefined;
  const over = judged.kind === "over" ? judged.why : closed;
  if (over !== undefined) {
    giveUp(scheduled, trouble === undefined ? over : `${over}: ${trouble}`, seen, dependencies);
    return undefined;
  }
  const isDue = judged.kind === "due";
  const wakeInMs = judged.kind === "wait" ? judged.wakeInMs : tryAgainMs;
  const againMs = isDue ? tryAgainMs : lookAheadMs;
  const isFirstDue = isDue && watch.wasDue !== true;
  if (!isFirstDue && watch.lookedMs !== undefined && clock.monotonicMs() - watch.lookedMs < againMs) return wakeInMs;
  watch.lookedMs = clock.monotonicMs();
  if (isDue) watch.wasDue = true;
  const looking = lookAt(scheduled, isDue, seen, dependencies)
    .catch((error: unknown) => {
      if (signal.aborted) return;
      seen.upgrade.note({ trouble: (error as Error).message });
      log.error(
        { event: "upgrade-look-failed", err: error },
        "looking at the scheduled upgrade failed; it is tried again",
      );
    })
    .finally(() => {
      watch.lookedMs = clock.monotonicMs();
      seen.upgrade.note({ looking: undefined });
      wake();
    });
  seen.upgrade.note({ looking });
  return wakeInMs;
}

async function lookAt(
  scheduled: ScheduledUpgrade,
  isDue: boolean,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  dependencies: BeginScheduledDependencies,
): Promise<void> {
  const { state, signal } = dependencies;
  const check = await checkUpgrade(scheduled.asked, dependencies);
  const now = state.scheduledUpgrade.get();
  // It may have been withdrawn meanwhile, or the sidecar is being stopped.
  if (signal.aborted || now?.acceptedMs !== scheduled.acceptedMs || now.notBegun !== undefined) return;
  const { problems, digest } = check.plan;
  const isAnother = check.record !== undefined && digest !== scheduled.digest;
  if (isDue && isAnother) return giveUp(scheduled, another, seen, dependencies);
  const [trouble] = isAnother ? [another] : [problems.length === 0 ? undefined : problems.join("; ")];
  if (!isDue || trouble !== undefined) return seen.upgrade.note({ trouble });
  // The look takes a while: the time may be over by now, as the next pass will say.
  if (judgeStart(scheduled, readSituation(dependencies)).kind !== "due") return;
  const begun = beginUpgrade(check, scheduled.digest, seen, dependencies);
  if (begun.result === "refused") seen.upgrade.note({ trouble: begun.plan.problems.join("; ") });
}

/** Reason why an upgrade does not go on that differs from the one that a person agreed to. */
export const another =
  "the programs, node.conf, the data's place or the settings are others than those that were agreed to";

function giveUp(
  scheduled: ScheduledUpgrade,
  notBegun: string,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  { state, events, log, command }: BeginScheduledDependencies,
): void {
  const given: ScheduledUpgrade = { ...scheduled, notBegun };
  const message = describeScheduled({ scheduled: given, starts: undefined, trouble: undefined }, command);
  state.atomically(() => {
    state.scheduledUpgrade.set(given);
    const before = { version: scheduled.from };
    events.add("upgrade", message, undefined, { by: "sidecar", outcome: "failure", before });
  });
  seen.upgrade.note({ scheduled: given, trouble: undefined });
  log.error({ event: "upgrade-not-begun", from: scheduled.from, to: scheduled.to }, message);
}
