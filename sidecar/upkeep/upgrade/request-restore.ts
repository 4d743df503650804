import type { ObservedUpgrade } from "./upgrade-observation.ts";
import { beginUpgrade, type BeginUpgradeDependencies, type BegunUpgrade } from "./begin-upgrade.ts";
import { checkRestore } from "./check-restore.ts";
import type { CheckUpgradeDependencies } from "./check-upgrade.ts";

/** A restore of the node's data that a person asks for; without the digest of a plan they only look. */
export type RequestedRestore = Readonly<{ snapshot?: string | undefined; digest?: string | undefined }>;

/** Shows a restore of the node's data, or begins it if it is still the one that was shown. */
export async function requestRestore(
  { snapshot, digest }: RequestedRestore,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  dependencies: CheckUpgradeDependencies & BeginUpgradeDependencies,
): Promise<BegunUpgrade> {
  return beginUpgrade(await checkRestore(snapshot, dependencies), digest, seen, dependencies);
}
