import type { EventLog } from "#status/event-log.ts";
import { rollBack } from "../../upgrade/next-stage.ts";
import type { UpgradeRequest } from "./check-release.ts";
import { checkRestore } from "./check-restore.ts";
import { findObstacles, type WhyNotNowDependencies } from "./check-node.ts";
import { checkUpgrade, type CheckUpgradeDependencies, type UpgradeCheck } from "./check-upgrade.ts";
import { formatUpgrade, formatUpgradeSubject, type ObservedUpgrade } from "./upgrade-observation.ts";
import { upgradeRoute } from "./upgrade-route.ts";
import type { UpgradePlan } from "./upgrade-plan.ts";

/** Response to an upgrade request. `refused`: its plan has problems; `another`: its plan differs from the one that was shown. */
export type StartedUpgrade = Readonly<{
  result: "shown" | "begun" | "refused" | "another";
  plan: UpgradePlan;
  beganMs?: number;
}>;

type SeenUpgrade = Readonly<{ upgrade: ObservedUpgrade }>;

export type BeginUpgradeDependencies = WhyNotNowDependencies & Readonly<{ wake: () => void; events: EventLog }>;

/**
 * Starts a checked upgrade if its plan still matches the one that was shown. Rechecks whether the upgrade may start, without an await
 * before the upgrade is recorded: another request, a restart or a pause may have come during the check.
 *
 * @param digest digest of the plan that the operator approved; undefined for a dry run.
 */
export function beginUpgrade(
  { plan, record }: UpgradeCheck,
  digest: string | undefined,
  seen: SeenUpgrade,
  dependencies: BeginUpgradeDependencies,
): StartedUpgrade {
  if (record === undefined) return { result: "refused", plan };
  if (digest === undefined) return { result: "shown", plan };
  if (digest !== plan.digest) return { result: "another", plan };
  const isRestore = record.restoredFrom !== undefined;
  const problems = [...findObstacles(dependencies, { isRestore })];
  if (problems.length > 0) return { result: "refused", plan: { ...plan, steps: [], problems } };
  const { state, events } = dependencies;
  state.atomically(() => {
    state.upgrade.set(record);
    if (!isRestore) return;
    const hold = state.hold.get();
    if (hold !== undefined) {
      const before = { hold: hold.message };
      const lifted = { by: "gatehouse restore", outcome: "success", before, after: {} } as const;
      events.add("hold", "The hold is lifted: a restore of the node's data was requested.", undefined, lifted);
    }
    state.hold.set(undefined);
    state.retry.set(undefined);
  });
  seen.upgrade.note({ record, agreedMs: record.beganMs });
  dependencies.wake();
  return { result: "begun", plan, beganMs: record.beganMs };
}

/** An upgrade requested by the operator; without a plan's digest, it is a dry run. */
export type RequestedUpgrade = UpgradeRequest & Readonly<{ digest?: string | undefined }>;

export type RequestUpgradeDependencies = CheckUpgradeDependencies & BeginUpgradeDependencies;

/** Plans an upgrade, or starts it if its plan still matches the one that was shown. */
export async function requestUpgrade(
  { digest, ...request }: RequestedUpgrade,
  seen: SeenUpgrade,
  dependencies: RequestUpgradeDependencies,
): Promise<StartedUpgrade> {
  return beginUpgrade(await checkUpgrade(request, dependencies), digest, seen, dependencies);
}

/**
 * Cancels an upgrade that has not stopped the node yet, or acknowledges that it was given up. Returns the upgrade's description; undefined
 * if there is none.
 */
export function cancelUpgrade(
  { upgrade }: SeenUpgrade,
  { state, events, clock, wake }: Pick<RequestUpgradeDependencies, "state" | "events" | "clock" | "wake">,
): Readonly<{ words: string }> | undefined {
  const record = state.upgrade.get();
  const isCopying = record?.end === undefined && record?.stage === "pre-copying";
  const isUnread = record?.end === "given-up" && record.isWithdrawn !== true;
  if (record === undefined || !(isCopying || isUnread)) return undefined;
  const by = "gatehouse upgrade --cancel";
  const withdrawn = isCopying
    ? { ...rollBack(record, `it was withdrawn (${by})`, clock.wallMs(), upgradeRoute), isWithdrawn: true }
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

/** A restore of the node's data, requested by the operator; without a plan's digest, it is a dry run. */
export type RequestedRestore = Readonly<{ snapshot?: string | undefined; digest?: string | undefined }>;

/** Plans a restore of the node's data, or starts it if its plan still matches the one that was shown. */
export async function requestRestore(
  { snapshot, digest }: RequestedRestore,
  seen: SeenUpgrade,
  dependencies: CheckUpgradeDependencies & BeginUpgradeDependencies,
): Promise<StartedUpgrade> {
  return beginUpgrade(await checkRestore(snapshot, dependencies), digest, seen, dependencies);
}
