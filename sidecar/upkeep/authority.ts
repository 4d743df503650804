import type { SidecarSettings } from "../settings.ts";
import type { UpkeepState } from "./state/upkeep-state.ts";

/** What a sidecar may do to its node: `waits` until a person has seen the plan and said `gatehouse adopt`. */
export type Authority = "acts" | "waits" | "observes";

/** What the setting and the node's adoption allow. */
export function authorityOf(
  mode: SidecarSettings["upkeep"]["mode"],
  { adopted }: Pick<UpkeepState, "adopted">,
): Authority {
  if (mode === "observe") return "observes";
  return mode === "enforce" || adopted.get() !== undefined ? "acts" : "waits";
}
