import type { SidecarSettings } from "../../settings.ts";
import { isEarly } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";

/** Right of a sidecar over its node: `waits` until a person has seen the plan and run `gatehouse adopt`. */
export type Authority = "acts" | "waits" | "observes";

/** Decides by `upkeep.mode` and the node's adoption. */
export function decideAuthority(
  mode: SidecarSettings["upkeep"]["mode"],
  { adopted }: Pick<UpkeepState, "adopted">,
): Authority {
  if (mode === "observe") return "observes";
  return mode === "enforce" || adopted.get() !== undefined ? "acts" : "waits";
}

/** Explains why a sidecar changes nothing at its node now, as the end of a sentence; undefined if it may. */
export function explainIdle(
  authority: Authority,
  { hold, store, upgrade }: Pick<UpkeepState, "hold" | "store" | "upgrade">,
): string | undefined {
  if (isBetweenVersions({ upgrade })) return "an upgrade is under way (UpgradeVerified says how far it is)";
  if (hold.get() !== undefined) return "a hold is in force (NotPaused says how it ends)";
  if (authority === "waits") return "the sidecar waits for your approval (Adopted says for which)";
  if (authority === "observes") return "upkeep.mode is observe";
  return store.failure() === undefined ? undefined : "the sidecar can't keep its state (StateWritable says why)";
}

/** Whether an upgrade has begun to change the node, so that nothing else may. */
export function isBetweenVersions({ upgrade }: Pick<UpkeepState, "upgrade">): boolean {
  const record = upgrade.get();
  return record !== undefined && record.end === undefined && !isEarly(record.stage);
}

/** Whether an upgrade is under way, even if the node still runs untouched. */
export function isUpgradeUnderWay({ upgrade }: Pick<UpkeepState, "upgrade">): boolean {
  const record = upgrade.get();
  return record !== undefined && record.end === undefined;
}
