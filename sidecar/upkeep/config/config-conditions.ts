import { describeChange } from "#node/conf/describe-change.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandText } from "../command-text.ts";
import { findWrite } from "../plan/plan.ts";
import type { ConfigComparison, ConfigObservation, ConfigValidity, OtherWriter } from "./config-observation.ts";

type ConfigReport = ConditionReport<"ConfigReconciled">;

const type = "ConfigReconciled";

/** Derives the condition for node.conf from the checks made so far. Pure. */
export function deriveConfigConditions(found: ConfigObservation, command: CommandText): readonly ConditionReport[] {
  const { validity, otherWriter, corrected } = found;
  const own = deriveConfigReconciled(found);
  if (otherWriter === undefined) return own === undefined ? [] : [own];
  const contest = reportContest(otherWriter, corrected, command);
  // The other writer is the likely cause of a file that can't be used.
  return [validity?.ok === false ? { ...contest, message: `${own?.message} ${contest.message}` } : contest];
}

/** Reports whether node.conf can be used and matches the desired configuration, regardless of other writers; undefined before the first check. Pure. */
export function deriveConfigReconciled({
  validity,
  comparison,
}: Pick<ConfigObservation, "validity" | "comparison">): ConfigReport | undefined {
  if (validity?.ok === false) return describeUnusable(validity);
  return comparison && describeComparison(comparison, validity?.path ?? "node.conf");
}

function describeUnusable({ problem, next }: Extract<ConfigValidity, { ok: false }>): ConfigReport {
  const { reason, message } = problem;
  if (next === "stays")
    return { type, status: "False", reason, message: `${message} The last good version stays active.` };
  if ("failure" in next) return { type, status: "False", reason: next.failure, message: `${message} ${next.message}` };
  if ("notRestored" in next) return { type, status: "False", reason, message: `${message} ${next.notRestored}` };
  const at = new Date(next.restoredAtMs).toISOString();
  const until = `The last good version stays active; it is restored at ${at} unless the file changes first.`;
  return { type, status: "False", reason, message: `${message} ${until}` };
}

function describeComparison(comparison: ConfigComparison, path: string): ConfigReport {
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
    return { type, status: "True", reason: "Reconciled", message: `${path} matches the desired configuration.` };
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
function reportContest(other: OtherWriter, corrected: readonly string[], command: CommandText): ConfigReport {
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
