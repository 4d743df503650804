import { findObstacles, type ObstacleDependencies } from "./check-node.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import type { RequestedUpgrade } from "./requested-upgrade.ts";
import type { ObservedUpgrade } from "./upgrade-observation.ts";

/** Checks again without an await before the record: another request, a restart or a pause may have come meanwhile. */
export function beginUpgrade(
  { plan, record }: UpgradeCheck,
  digest: string | undefined,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  dependencies: ObstacleDependencies & Readonly<{ wake: () => void }>,
): RequestedUpgrade {
  if (record === undefined) return { result: "rejected", plan };
  if (digest === undefined) return { result: "shown", plan };
  if (digest !== plan.digest) return { result: "another", plan };
  const problems = [...findObstacles(dependencies)];
  if (problems.length > 0) return { result: "rejected", plan: { ...plan, steps: [], problems } };
  dependencies.state.upgrade.set(record);
  seen.upgrade.note({ record, agreedMs: record.beganMs });
  dependencies.wake();
  return { result: "begun", plan, beganMs: record.beganMs };
}
