import { beginUpgrade, type BeginUpgradeDependencies, type BegunUpgrade } from "./begin-upgrade.ts";
import type { UpgradeRequest } from "./check-release.ts";
import { checkUpgrade, type CheckUpgradeDependencies } from "./check-upgrade.ts";
import { formatUpgradeSubject, formatUpgrade, type ObservedUpgrade } from "./upgrade-observation.ts";
import { rollBack } from "../../upgrade/next-stage.ts";
import { upgradeRoute } from "./upgrade-route.ts";
import { checkRestore } from "./check-restore.ts";

/** Upgrade that a person requests; without the digest of a plan they only look. */
export type RequestedUpgrade = UpgradeRequest & Readonly<{ digest?: string | undefined }>;

type SeenUpgrade = Readonly<{ upgrade: ObservedUpgrade }>;

export type RequestUpgradeDependencies = CheckUpgradeDependencies & BeginUpgradeDependencies;

/** Shows an upgrade, or begins it if it is still the one that was shown. */
export async function requestUpgrade(
  { digest, ...request }: RequestedUpgrade,
  seen: SeenUpgrade,
  dependencies: RequestUpgradeDependencies,
): Promise<BegunUpgrade> {
  return beginUpgrade(await checkUpgrade(request, dependencies), digest, seen, dependencies);
}

/** Withdraws an upgrade for which the node was not stopped yet, or takes note that it was given up. Returns its description; undefined if there is none. */
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

/** Restore of the node's data that a person requests; without the digest of a plan they only look. */
export type RequestedRestore = Readonly<{ snapshot?: string | undefined; digest?: string | undefined }>;

/** Shows a restore of the node's data, or begins it if it is still the one that was shown. */
export async function requestRestore(
  { snapshot, digest }: RequestedRestore,
  seen: SeenUpgrade,
  dependencies: CheckUpgradeDependencies & BeginUpgradeDependencies,
): Promise<BegunUpgrade> {
  return beginUpgrade(await checkRestore(snapshot, dependencies), digest, seen, dependencies);
}
