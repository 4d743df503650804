import { describeChange } from "#node/conf/describe-change.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandText } from "../command-words.ts";
import { findWrite } from "../plan/plan.ts";
import type { ConfigComparison, ConfigObservation, ConfigValidity, OtherWriter } from "./config-observation.ts";

/** Derives the node.conf conditions from the checks made so far. Pure. */
export function deriveConfigConditions(
  { validity, comparison, otherWriter, corrected }: ConfigObservation,
  command: CommandText,
): readonly ConditionReport[] {
  return [
    ...(validity === undefined ? [] : [deriveConfigValid(validity)]),
    ...(otherWriter === undefined ? [] : [deriveSoleWriter(otherWriter, corrected, command)]),
    ...(comparison === undefined ? [] : [deriveConfigCurrent(comparison)]),
  ];
}

function deriveConfigValid(validity: ConfigValidity): ConditionReport {
  const type = "ConfigValid";
  if (validity.ok) return { type, status: "True", reason: "Valid", message: `${validity.path} can be used.` };
  const { reason, message } = validity.problem;
  return { type, status: "False", reason, message: `${message} ${describeNext(validity.next)}` };
}

function describeNext(next: Extract<ConfigValidity, { ok: false }>["next"]): string {
  if (next === "stays") return "The last good one stays in force.";
  if ("notRestored" in next) return next.notRestored;
  const at = new Date(next.restoredAtMs).toISOString();
  return `The last good one stays in force, and is written back at ${at} unless the file changes before.`;
}

/** Reason, as a clause, for not writing node.conf while another process holds the write lock. */
export const locked = "this sidecar may not write it (SoleWriter)";

/** Reports whether node.conf matches the desired configuration. Pure. */
export function deriveConfigCurrent(comparison: ConfigComparison): ConditionReport<"ConfigReconciled"> {
  const type = "ConfigReconciled";
  if ("notPutBack" in comparison) {
    return { type, status: "False", reason: comparison.notPutBack, message: comparison.message };
  }
  const { planned, result, idle } = comparison;
  if (result?.ok === false && result.reason === "Locked") {
    const changes = findWrite(planned)?.changes.map(describeChange).join("; ") ?? "";
    return {
      type,
      status: "False",
      reason: result.reason,
      message: `node.conf differs from the desired configuration, and ${locked}: ${changes}`,
    };
  }
  if (result?.ok === false && result.reason !== "ChangedMeanwhile") {
    const message = `${result.message} It is tried again at each look at node.conf (upkeep.rereadIntervalMs).`;
    return { type, status: "False", reason: result.reason, message };
  }
  for (const { reason, message } of planned.problems) {
    if (reason !== "CannotDisable") return { type, status: "False", reason, message: formatSentence(message) };
  }
  const action = findWrite(planned);
  if (action === undefined)
    return { type, status: "True", reason: "Reconciled", message: "node.conf matches the desired configuration." };
  const why = idle ?? "corrections are slowed down to one a second";
  const list = action.changes.map(describeChange).join("; ");
  return {
    type,
    status: "False",
    reason: "Drift",
    message: `node.conf differs from the desired configuration, and ${why}: ${list}`,
  };
}

function deriveSoleWriter(
  other: OtherWriter | "none",
  corrected: readonly string[],
  command: CommandText,
): ConditionReport<"SoleWriter"> {
  const type = "SoleWriter";
  if (other === "none") {
    return { type, status: "True", reason: "Uncontested", message: "Nobody else keeps writing node.conf." };
  }
  if (other.kind === "locked")
    return { type, status: "False", reason: "Locked", message: formatSentence(other.message) };
  if (other.kind === "start") {
    const message =
      `The node's own start overwrites node.conf: it undid what the sidecar had written at each of the last two restarts. Last undone: ${corrected.join("; ")}. ` +
      `Set that in what the start renders ${other.path} from (a template, an entry point, its environment), then restart the node. ` +
      `It is not restarted for it until node.conf holds something else, or until \`${command("resume")}\` is run.`;
    return { type, status: "False", reason: "StartRewrites", message };
  }
  const { perMinute, untilMs, path } = other;
  const what =
    perMinute === undefined
      ? "node.conf was corrected of the very same change again and again within six hours"
      : `node.conf was corrected ${perMinute} times within a minute`;
  const message =
    `${what}: another program keeps writing it. Stop that program; only the sidecar may write the file. Last undone: ${corrected.join("; ")}. ` +
    "Look for that in cron, configuration management (Ansible, Puppet) and the deployment's own templates; " +
    `\`auditctl -w ${path} -p wa\` and \`ausearch -f ${path}\` name the program. The node is not restarted for it until ${new Date(untilMs).toISOString()}, ` +
    `or until \`${command("resume")}\` is run.`;
  return { type, status: "False", reason: "Contested", message };
}

function formatSentence(message: string): string {
  // A file name isn't capitalized.
  return message.startsWith("node.conf") ? message : message.charAt(0).toUpperCase() + message.slice(1);
}
