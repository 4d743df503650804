import type { SidecarSettings } from "../../settings.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";

/** Permission for a sidecar to act on its node. `waits`: not until the operator has seen the plan and run `gatehouse adopt`. */
export type Permissions = "acts" | "waits" | "observes";

export function decidePermissions(
  mode: SidecarSettings["upkeep"]["mode"],
  { adopted }: Pick<UpkeepState, "adopted">,
): Permissions {
  if (mode === "observe") return "observes";
  return mode === "enforce" || adopted.get() !== undefined ? "acts" : "waits";
}

/** Explains, as the end of a sentence, why the sidecar currently doesn't change its node; undefined if it may change it. */
export function explainInaction(
  authority: Permissions,
  { hold, store, upgrade }: Pick<UpkeepState, "hold" | "store" | "upgrade">,
): string | undefined {
  if (isBetweenVersions({ upgrade })) return "an upgrade is in progress (see UpgradeVerified)";
  if (hold.get() !== undefined) return "Gatehouse is paused (see NotPaused)";
  if (authority === "waits") return "the sidecar is waiting for your approval (see NotPaused)";
  if (authority === "observes") return "upkeep.mode is observe";
  return store.failure() === undefined ? undefined : "the sidecar can't store its state (see Reconciling)";
}

/** Whether an upgrade is in progress, which blocks all other changes. */
export function isBetweenVersions({ upgrade }: Pick<UpkeepState, "upgrade">): boolean {
  const record = upgrade.get();
  return record !== undefined && record.end === undefined;
}
