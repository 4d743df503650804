import type { EventLog } from "#status/event-log.ts";
import { findObstacles, type WhyNotNowDependencies } from "./check-node.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import type { ObservedUpgrade } from "./upgrade-observation.ts";
import type { UpgradePlan } from "./upgrade-plan.ts";

/** What became of an upgrade that was requested; `refused` for the problems of its plan, `another` when it is not the one that was seen. */
export type BegunUpgrade = Readonly<{
  result: "shown" | "begun" | "refused" | "another";
  plan: UpgradePlan;
  beganMs?: number;
}>;

export type BeginUpgradeDependencies = WhyNotNowDependencies & Readonly<{ wake: () => void; events: EventLog }>;

/**
 * Begins an upgrade that was looked at, if it is still the one that was shown. Whether it may begin is checked once more, with nothing awaited before it is
 * remembered: another request, a restart or a hold may have come during the look.
 *
 * @param digest of the plan that a person agreed to; undefined where they only look.
 */
export function beginUpgrade(
  { plan, record }: UpgradeCheck,
  digest: string | undefined,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  dependencies: BeginUpgradeDependencies,
): BegunUpgrade {
  if (record === undefined) return { result: "refused", plan };
  if (digest === undefined) return { result: "shown", plan };
  if (digest !== plan.digest) return { result: "another", plan };
  const isRestore = record.restoredFrom !== undefined;
  const problems = [...findObstacles(dependencies, { isRestore })];
  if (problems.length > 0) return { result: "refused", plan: { ...plan, steps: [], problems } };
  const { state, events } = dependencies;
  // One write: a kill between them would begin what was scheduled twice.
  state.atomically(() => {
    state.upgrade.set(record);
    if (!isRestore) return state.scheduledUpgrade.set(undefined);
    const hold = state.hold.get();
    if (hold !== undefined) {
      const isOwn = record.foundCorrupt !== undefined;
      const lifted = {
        by: isOwn ? "sidecar" : "gatehouse restore",
        outcome: "success",
        before: { hold: hold.message },
        after: {},
      } as const;
      const why = isOwn
        ? "the node's data are found corrupt, and are restored"
        : "a restore of the node's data was requested";
      events.add("hold", `The hold is lifted: ${why}.`, undefined, lifted);
    }
    state.hold.set(undefined);
    state.retry.set(undefined);
  });
  seen.upgrade.note({ record, agreedMs: record.beganMs });
  if (!isRestore) seen.upgrade.note({ scheduled: undefined, trouble: undefined });
  dependencies.wake();
  return { result: "begun", plan, beganMs: record.beganMs };
}
