import type { EventLog } from "#status/event-log.ts";
import { findObstacles, type WhyNotNowDependencies } from "./check-node.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import type { ObservedUpgrade } from "./upgrade-observation.ts";
import type { UpgradePlan } from "./upgrade-plan.ts";

/** Answer to a requested upgrade: `refused` for the problems of its plan, `another` if it is not the one that was shown. */
export type BegunUpgrade = Readonly<{
  result: "shown" | "begun" | "refused" | "another";
  plan: UpgradePlan;
  beganMs?: number;
}>;

export type BeginUpgradeDependencies = WhyNotNowDependencies & Readonly<{ wake: () => void; events: EventLog }>;

/**
 * Begins a checked upgrade, if it is still the one that was shown. Whether it may begin is checked once more, and nothing is awaited before it is
 * recorded: another request, a restart or a hold may have come during the look.
 *
 * @param digest of the plan that a person agreed to; undefined if they only look.
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
  state.atomically(() => {
    state.upgrade.set(record);
    if (!isRestore) return;
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
  dependencies.wake();
  return { result: "begun", plan, beganMs: record.beganMs };
}
