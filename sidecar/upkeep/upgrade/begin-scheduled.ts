import type { Logger } from "#daemon/log/log.ts";
import type { ScheduledUpgrade } from "../state/scheduled-upgrade.ts";
import { readSituation, type RequestUpgradeDependencies } from "./request-upgrade.ts";
import { beginUpgrade } from "./begin-upgrade.ts";
import { checkUpgrade } from "./check-upgrade.ts";
import { describeScheduled, type ObservedUpgrade } from "./upgrade-observation.ts";
import { describeStart, judgeStart } from "./upgrade-start.ts";

/** What the passes keep of the scheduled upgrade between two looks; monotonic. */
export type ScheduleWatch = {
  /** The one that the rest is about: when it was accepted. */
  acceptedMs?: number;
  lookedMs?: number;
  /** Whether its time had come at a look of this process. */
  wasDue?: boolean;
};

export type BeginScheduledDependencies = RequestUpgradeDependencies & Readonly<{ log: Logger }>;

/** How often it is tried again to begin one whose time has come, and how often one that waits is looked at beforehand. */
const tryAgainMs = 5_000;
const lookAheadMs = 3_600_000;

/**
 * Begins the scheduled upgrade when its time has come, looks beforehand whether it could, and gives it up once its time is over. Looks go on alongside
 * later passes. Returns when the next pass is wanted.
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
  // A time or a height that was due comes again: a clock that was set back, a head that was rolled back.
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
  // The look takes a while: its time may be over by now, as the next pass says.
  if (judgeStart(scheduled, readSituation(dependencies)).kind !== "due") return;
  const begun = beginUpgrade(check, scheduled.digest, seen, dependencies);
  if (begun.result === "refused") seen.upgrade.note({ trouble: begun.plan.problems.join("; ") });
}

/** Why an upgrade does not go on that a person has agreed to as another one. */
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
