import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Authority } from "./adoption/authority.ts";
import { deriveConfigReconciled, type ConfigObservation } from "./config/config-observation.ts";

/** Only the running node can report its version, so blocking its start until the version is known would deadlock. */
const reportsItself =
  "The node's version is unknown; node.conf is valid for at least one version, so the node may start and report its own. To check the keys before that, set node.version (GATEHOUSE_SIDECAR_NODE_VERSION).";
const heldBack =
  "node.conf needs changes for every known version, so a node that waits for /startupz does not start and can't report its version.";

export type StartSituation = Readonly<{
  passed: boolean;
  authority: Authority;
  isHeld: boolean;
  config: Pick<ConfigObservation, "validity" | "comparison" | "mayReportVersion">;
}>;

/** Whether the configuration is right, so that the node may start; served as `/startupz`. Pure. */
export function checkConfigured({ passed, authority, isHeld, config }: StartSituation): ReadinessCheck {
  if (!passed) return { ok: false, message: "The configuration has not been checked yet." };
  if (authority === "observes") return { ok: true, message: "upkeep.mode is observe." };
  // A node that is awaiting an operator's approval may never start; in a pod, the sidecar would be restarted in the meantime.
  if (authority === "waits") return { ok: true, message: "The sidecar changes nothing until you run gatehouse adopt." };
  if (isHeld) return { ok: true, message: "Gatehouse is paused." };
  if (config.mayReportVersion) return { ok: true, message: reportsItself };
  const reconciled = deriveConfigReconciled(config);
  if (reconciled === undefined) return { ok: false, message: "node.conf is not valid yet." };
  const { status, reason, message } = reconciled;
  if (reason === "VersionUnknown") return { ok: false, message: `${message} ${heldBack}` };
  return { ok: status === "True", message };
}
