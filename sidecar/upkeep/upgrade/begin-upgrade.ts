import { findObstacles, type ObstacleDependencies } from "./check-node.ts";
import { checkUpgrade, type CheckUpgradeDependencies, type UpgradeCheck } from "./check-upgrade.ts";
import type { RequestedUpgrade, UpgradeRequest } from "./requested-upgrade.ts";
import type { ObservedUpgrade } from "./upgrade-observation.ts";

type SeenUpgrade = Readonly<{ upgrade: ObservedUpgrade }>;

export type RequestUpgradeDependencies = CheckUpgradeDependencies & Readonly<{ wake: () => void }>;

/** Plans an upgrade; with the digest of the plan that the operator approved, starts it. */
export async function requestUpgrade(
  request: UpgradeRequest,
  seen: SeenUpgrade,
  dependencies: RequestUpgradeDependencies,
): Promise<RequestedUpgrade> {
  return beginUpgrade(await checkUpgrade(request, dependencies), request.digest, seen, dependencies);
}

/**
 * Starts a checked upgrade if its plan still matches the one that was shown. Rechecks whether the upgrade may start, without an await
 * before the upgrade is recorded: another request, a restart or a pause may have come during the check.
 */
export function beginUpgrade(
  { plan, record }: UpgradeCheck,
  digest: string | undefined,
  seen: SeenUpgrade,
  dependencies: ObstacleDependencies & Pick<RequestUpgradeDependencies, "wake">,
): RequestedUpgrade {
  if (record === undefined) return { result: "refused", plan };
  if (digest === undefined) return { result: "shown", plan };
  if (digest !== plan.digest) return { result: "another", plan };
  const problems = [...findObstacles(dependencies)];
  if (problems.length > 0) return { result: "refused", plan: { ...plan, steps: [], problems } };
  dependencies.state.upgrade.set(record);
  seen.upgrade.note({ record, agreedMs: record.beganMs });
  dependencies.wake();
  return { result: "begun", plan, beganMs: record.beganMs };
}
