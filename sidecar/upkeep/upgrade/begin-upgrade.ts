import { findObstacles } from "./check-node.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import type { RequestedUpgrade } from "./requested-upgrade.ts";
import type { UpgradeContext } from "./upgrade-context.ts";

/** Checks again without an await before the record: another request, a restart or a pause may have come meanwhile. */
export function beginUpgrade(
  { plan, record }: UpgradeCheck,
  digest: string | undefined,
  context: UpgradeContext,
): RequestedUpgrade {
  if (record === undefined) return { result: "rejected", plan };
  if (digest === undefined) return { result: "shown", plan };
  if (digest !== plan.digest) return { result: "another", plan };
  const problems = [...findObstacles(context)];
  if (problems.length > 0) return { result: "rejected", plan: { ...plan, steps: [], problems } };
  context.state.upgrade.set(record);
  context.upgrade.note({ record, agreedMs: record.beganMs });
  context.wake();
  return { result: "begun", plan, beganMs: record.beganMs };
}
