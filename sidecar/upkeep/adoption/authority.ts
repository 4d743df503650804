import type { SidecarSettings } from "../../settings.ts";
import { isEarly } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";

/** What a sidecar may do to its node: `waits` until a person has seen the plan and said `gatehouse adopt`. */
export type Authority = "acts" | "waits" | "observes";

/** What the setting and the node's adoption allow. */
export function decideAuthority(
  mode: SidecarSettings["upkeep"]["mode"],
  { adopted }: Pick<UpkeepState, "adopted">,
): Authority {
  if (mode === "observe") return "observes";
  return mode === "enforce" || adopted.get() !== undefined ? "acts" : "waits";
}

/** Why a sidecar changes nothing at its node now, as the end of a sentence; undefined when it may. */
export function explainIdle(
  authority: Authority,
  { hold, store, upgrade }: Pick<UpkeepState, "hold" | "store" | "upgrade">,
): string | undefined {
  if (isBetweenVersions({ upgrade })) return "an upgrade is under way (UpgradeProved says how far it is)";
  if (hold.get() !== undefined) return "a hold is in force (Unheld says how it ends)";
  if (authority === "waits") return "the sidecar waits for your approval (Adopted says for which)";
  if (authority === "observes") return "upkeep.mode is observe";
  return store.failure() === undefined ? undefined : "the sidecar can't keep its state (StateKept says why)";
}

/** Whether an upgrade has come to the node, so that nothing else may be done to that. */
export function isBetweenVersions({ upgrade }: Pick<UpkeepState, "upgrade">): boolean {
  const record = upgrade.get();
  return record !== undefined && record.end === undefined && !isEarly(record.stage);
}

/** Whether an upgrade is under way, be it that the node still runs as ever. */
export function isUpgradeUnderWay({ upgrade }: Pick<UpkeepState, "upgrade">): boolean {
  const record = upgrade.get();
  return record !== undefined && record.end === undefined;
}
