import type { ScheduledUpgrade } from "../state/scheduled-upgrade.ts";
import { beginUpgrade, type BeginUpgradeDependencies, type BegunUpgrade } from "./begin-upgrade.ts";
import { findObstacles } from "./check-node.ts";
import type { UpgradeRequest } from "./check-release.ts";
import { checkUpgrade, type CheckUpgradeDependencies, type UpgradeCheck } from "./check-upgrade.ts";
import { describeStart, resolveStart, type RequestedStart, type StartSituation } from "./upgrade-start.ts";
import type { CommandWords } from "../command-words.ts";
import { describeScheduled, formatUpgradeSubject, formatUpgrade, type ObservedUpgrade } from "./upgrade-observation.ts";
import { decideAfterWithdrawal } from "./next-stage.ts";
import { checkRestore } from "./check-restore.ts";

/** Upgrade that a person requests; without the digest of a plan they only look. */
export type RequestedUpgrade = UpgradeRequest & Readonly<{ digest?: string | undefined; at?: RequestedStart }>;

/** Answer to the request; `scheduled`: it is accepted and begins by itself. `starts`: when, unless at once. */
export type AnsweredUpgrade = Omit<BegunUpgrade, "result"> &
  Readonly<{ result: BegunUpgrade["result"] | "scheduled"; starts?: string }>;

type SeenUpgrade = Readonly<{ upgrade: ObservedUpgrade }>;

export type RequestUpgradeDependencies = CheckUpgradeDependencies &
  BeginUpgradeDependencies &
  Readonly<{ command: CommandWords }>;

/** Shows an upgrade, begins it, or accepts it for later. An accepted one is on disk when this returns. */
export async function requestUpgrade(
  { digest, at, ...request }: RequestedUpgrade,
  seen: SeenUpgrade,
  dependencies: RequestUpgradeDependencies,
): Promise<AnsweredUpgrade> {
  const looked = await checkUpgrade(request, dependencies);
  const situation = readSituation(dependencies);
  const { start, ...found } = resolveStart(at, situation);
  const check = withStart(looked, { ...found, problems: [...found.problems, ...findScheduled(dependencies)] });
  if (start === undefined) return beginUpgrade(check, digest, seen, dependencies);
  const starts = describeStart(start, situation);
  const { plan, record } = check;
  if (record === undefined) return { result: "refused", plan, starts };
  if (digest === undefined) return { result: "shown", plan, starts };
  if (digest !== plan.digest) return { result: "another", plan, starts };
  const problems = [...findObstacles(dependencies), ...findScheduled(dependencies)];
  if (problems.length > 0) return { result: "refused", plan: { ...plan, steps: [], problems }, starts };
  const { from, to } = record;
  const scheduled: ScheduledUpgrade = { asked: request, from, to, digest, start, acceptedMs: situation.nowMs };
  const { state, events, wake } = dependencies;
  state.atomically(() => {
    state.scheduledUpgrade.set(scheduled);
    events.add("upgrade", `The upgrade from ${from} to ${to} is accepted; it begins by itself ${starts}.`, undefined, {
      by: "gatehouse upgrade",
      outcome: "unknown",
      before: { version: from },
    });
  });
  seen.upgrade.note({ scheduled, starts, trouble: undefined });
  wake();
  return { result: "scheduled", plan, starts };
}

/** Withdraws the scheduled upgrade, or forgets that it did not begin. Returns its description; undefined if there is none. */
export function cancelUpgrade(
  seen: SeenUpgrade,
  dependencies: Pick<RequestUpgradeDependencies, "state" | "events" | "command" | "clock" | "wake">,
): Readonly<{ words: string }> | undefined {
  const { state, events, command } = dependencies;
  const scheduled = state.scheduledUpgrade.get();
  if (scheduled === undefined) return cancelEarly(seen, dependencies);
  const words = describeScheduled({ ...seen.upgrade.now(), scheduled }, command);
  state.atomically(() => {
    state.scheduledUpgrade.set(undefined);
    events.add("upgrade", `The scheduled upgrade from ${scheduled.from} to ${scheduled.to} is withdrawn.`, undefined, {
      by: "gatehouse upgrade --cancel",
      outcome: "success",
    });
  });
  seen.upgrade.note({ scheduled: undefined, wasScheduled: true, trouble: undefined });
  return { words };
}

/** Withdraws an upgrade for which the node was not stopped yet, or takes note that it was given up. */
function cancelEarly(
  { upgrade }: SeenUpgrade,
  { state, events, clock, wake }: Pick<RequestUpgradeDependencies, "state" | "events" | "clock" | "wake">,
): Readonly<{ words: string }> | undefined {
  const record = state.upgrade.get();
  const isCopying = record?.end === undefined && record?.stage === "pre-copying";
  const isUnread = record?.end === "given-up" && record.isWithdrawn !== true;
  if (record === undefined || !(isCopying || isUnread)) return undefined;
  const by = "gatehouse upgrade --cancel";
  const withdrawn = isCopying
    ? decideAfterWithdrawal(record, `it was withdrawn (${by})`, clock.wallMs())
    : { ...record, isWithdrawn: true };
  state.atomically(() => {
    state.upgrade.set(withdrawn);
    events.add("upgrade", `${formatUpgradeSubject(record)} is withdrawn.`, undefined, { by, outcome: "success" });
  });
  upgrade.note({ record: withdrawn, trouble: undefined });
  upgrade.now().preCopying?.end();
  wake();
  return { words: formatUpgrade(record) };
}

export function readSituation({
  settings,
  clock,
  health,
}: Pick<CheckUpgradeDependencies, "settings" | "health" | "clock">): StartSituation {
  return { upgrade: settings.upgrade, nowMs: clock.wallMs(), height: health.current().height };
}

function withStart(
  { plan, record }: UpgradeCheck,
  found: Readonly<Record<"problems" | "warnings", readonly string[]>>,
) {
  const problems = [...plan.problems, ...found.problems];
  const steps = problems.length > 0 ? [] : plan.steps;
  const shown = { ...plan, steps, problems, warnings: [...plan.warnings, ...found.warnings] };
  return { plan: shown, record: problems.length > 0 ? undefined : record };
}

function* findScheduled({ state, command }: Pick<RequestUpgradeDependencies, "state" | "command">): Generator<string> {
  const scheduled = state.scheduledUpgrade.get();
  if (scheduled === undefined || scheduled.notBegun !== undefined) return;
  yield `an upgrade to ${scheduled.to} is accepted already and begins by itself; withdraw it first: ${command("upgrade --cancel")}`;
}

/** Restore of the node's data that a person requests; without the digest of a plan they only look. */
export type RequestedRestore = Readonly<{ snapshot?: string | undefined; digest?: string | undefined }>;

/** Shows a restore of the node's data, or begins it if it is still the one that was shown. */
export async function requestRestore(
  { snapshot, digest }: RequestedRestore,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  dependencies: CheckUpgradeDependencies & BeginUpgradeDependencies,
): Promise<BegunUpgrade> {
  return beginUpgrade(await checkRestore(snapshot, dependencies), digest, seen, dependencies);
}
