import { describeChange } from "#node/conf/describe-change.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandText } from "../command-text.ts";
import { findWrite } from "../plan/plan.ts";
import type { ConfigComparison, ConfigObservation, ConfigValidity, OtherWriter } from "./config-observation.ts";

/** Derives the node.conf conditions from the checks made so far. Pure. */
export function deriveConfigConditions(
  { validity, comparison, otherWriter, corrected }: ConfigObservation,
  command: CommandText,
): readonly ConditionReport[] {
  const contest = otherWriter && reportContest(otherWriter, corrected, command);
  const current = contest ?? (comparison && deriveConfigCurrent(comparison));
  return [
    ...(validity === undefined ? [] : [deriveConfigValid(validity)]),
    ...(current === undefined ? [] : [current]),
  ];
}

function deriveConfigValid(validity: ConfigValidity): ConditionReport {
  const type = "ConfigValid";
  if (validity.ok) return { type, status: "True", reason: "Valid", message: `${validity.path} is valid.` };
  const { reason, message } = validity.problem;
  return { type, status: "False", reason, message: `${message} ${describeNext(validity.next)}` };
}

function describeNext(next: Extract<ConfigValidity, { ok: false }>["next"]): string {
  if (next === "stays") return "The last good version stays active.";
  if ("notRestored" in next) return next.notRestored;
  const at = new Date(next.restoredAtMs).toISOString();
  return `The last good version stays active; it is restored at ${at} unless the file changes first.`;
}

/** Reports whether node.conf matches the desired configuration. Pure. */
export function deriveConfigCurrent(comparison: ConfigComparison): ConditionReport<"ConfigReconciled"> {
  const type = "ConfigReconciled";
  if ("notPutBack" in comparison) {
    return { type, status: "False", reason: comparison.notPutBack, message: comparison.message };
  }
  const { planned, result, idle } = comparison;
  if (result?.ok === false && result.reason === "Locked") {
    const changes = findWrite(planned)?.changes.map(describeChange).join("; ") ?? "";
    const message = `${formatSentence(result.message)} node.conf differs from the desired configuration: ${changes}`;
    return { type, status: "False", reason: result.reason, message };
  }
  if (result?.ok === false && result.reason !== "ChangedMeanwhile") {
    const message = `${result.message} Retried whenever node.conf is reread.`;
    return { type, status: "False", reason: result.reason, message };
  }
  for (const { reason, message } of planned.problems) {
    if (reason !== "CannotDisable") return { type, status: "False", reason, message: formatSentence(message) };
  }
  const action = findWrite(planned);
  if (action === undefined)
    return { type, status: "True", reason: "Reconciled", message: "node.conf matches the desired configuration." };
  const why = idle ?? "corrections are limited to one per second";
  const list = action.changes.map(describeChange).join("; ");
  return {
    type,
    status: "False",
    reason: "Drift",
    message: `node.conf differs from the desired configuration, and ${why}: ${list}`,
  };
}

/** Reports another writer, which undoes every correction. */
function reportContest(
  other: OtherWriter,
  corrected: readonly string[],
  command: CommandText,
): ConditionReport<"ConfigReconciled"> {
  const type = "ConfigReconciled";
  if (other.kind === "start") {
    const message =
      `The node's start script overwrites node.conf: it reverted the sidecar's corrections at each of the last two restarts. Last reverted: ${corrected.join("; ")}. ` +
      `Set these values in the source of ${other.path} (template, entrypoint or environment), then restart the node. ` +
      `The sidecar does not restart it for this until node.conf changes or you run \`${command("resume")}\`.`;
    return { type, status: "False", reason: "StartRewrites", message };
  }
  const { perMinute, untilMs, path } = other;
  const what =
    perMinute === undefined
      ? "node.conf was corrected repeatedly for the same change within six hours"
      : `node.conf was corrected ${perMinute} times within a minute`;
  const message =
    `${what}: another program keeps writing it. Stop that program; only the sidecar may write the file. Last corrected: ${corrected.join("; ")}. ` +
    "Check cron, configuration management (Ansible, Puppet) and the deployment's templates; " +
    `\`auditctl -w ${path} -p wa\` and \`ausearch -f ${path}\` show the program. The node is not restarted for this until ${new Date(untilMs).toISOString()} ` +
    `or until you run \`${command("resume")}\`.`;
  return { type, status: "False", reason: "Contested", message };
}

function formatSentence(message: string): string {
  // A file name isn't capitalized.
  return message.startsWith("node.conf") ? message : message.charAt(0).toUpperCase() + message.slice(1);
}
