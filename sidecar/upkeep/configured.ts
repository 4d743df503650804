import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Authority } from "./adoption/authority.ts";
import { deriveConfigCurrent } from "./config/config-conditions.ts";
import type { ConfigObservation } from "./config/config-observation.ts";

/** Only the running node can report its version, so blocking its start until the version is known would deadlock. */
const reportsItself =
  "The node's version is not known; node.conf is right for a node of some version, so it may start and report it. To have the names of the keys judged before, set node.version (GATEHOUSE_SIDECAR_NODE_VERSION).";
const heldBack =
  "node.conf needs changes under the names of any version, so the node is held back where it waits for /startupz, and can't report its version itself.";

/** Facts that determine whether the node may start. */
export type StartSituation = Readonly<{
  /** Whether a full reconcile has completed. */
  passed: boolean;
  authority: Authority;
  isHeld: boolean;
  config: Pick<ConfigObservation, "comparison" | "mayReportVersion">;
}>;

/** Whether the configuration is right, so that the node may start; served as `/startupz`. Pure. */
export function judgeConfigured({ passed, authority, isHeld, config }: StartSituation): ReadinessCheck {
  if (!passed) return { ok: false, message: "The configuration has not been looked at yet." };
  if (authority === "observes") return { ok: true, message: "upkeep.mode is observe." };
  // A node that is awaiting an operator's approval may never start; in a pod, the sidecar would be restarted in the meantime.
  if (authority === "waits") return { ok: true, message: "The sidecar changes nothing before gatehouse adopt is run." };
  if (isHeld) return { ok: true, message: "A hold is in force." };
  if (config.mayReportVersion) return { ok: true, message: reportsItself };
  if (config.comparison === undefined) return { ok: false, message: "node.conf can't be used yet." };
  const { status, reason, message } = deriveConfigCurrent(config.comparison);
  if (reason === "VersionUnknown") return { ok: false, message: `${message} ${heldBack}` };
  return { ok: status === "True", message };
}
