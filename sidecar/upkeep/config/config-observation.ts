import type { Observation } from "#health/observation.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { isUnusableByNode, type ConfigProblem } from "#node/conf/problem.ts";
import type { ContentTimes } from "./content-times.ts";
import { type Plan, findWrite } from "../plan/plan.ts";
import { describeChange } from "#node/conf/monitor-change.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandText } from "../command-text.ts";
import { capitalize } from "../sentence.ts";

export type ConfigWriteFailure = "Locked" | "LockFailed" | "ChangedMeanwhile" | "BackupFailed" | "WriteFailed";

/** `attributesLost`: the reason why the file's ACLs and extended attributes, if any, are not preserved. `copy`: path of the copy of the old content. */
export type ConfigWriteResult = Readonly<
  | { ok: true; attributesLost?: string | undefined; copy?: string | undefined }
  | { ok: false; reason: ConfigWriteFailure; message: string }
>;

/** Whether node.conf is usable and, if not, the planned restore. Times are wall-clock times. */
export type ConfigValidity = Readonly<
  | { ok: true; path: string }
  | {
      ok: false;
      problem: ConfigProblem;
      next: "stays" | { restoredAtMs: number } | { notRestored: string } | RestoreFailure;
    }
>;

type RestoreFailure = { failure: Exclude<ConfigWriteFailure, "ChangedMeanwhile">; message: string };

export type ConfigComparison = Readonly<{
  planned: Plan;
  result: ConfigWriteResult | undefined;
  idle: string | undefined;
}>;

/** Another writer of node.conf: the node's own start script, or a program that undoes corrections. */
export type OtherWriter = Readonly<
  | { kind: "start"; path: string }
  /** `perMinute` is absent if the same change recurs; `untilMs`: wall clock. */
  | { kind: "contested"; perMinute: number | undefined; untilMs: number; path: string }
>;

/** What is known about node.conf. It is lost when the sidecar exits; rebuilding it only takes time. */
export type ConfigState = ContentTimes &
  Readonly<{
    validity?: ConfigValidity | undefined;
    mayReportVersion: boolean;
    document?: ConfigDocument | undefined;
    lastUsable?: Readonly<{ contentHash: string; bytes: Uint8Array }> | undefined;
    /**
     * Fingerprint of the configuration that the node read before node.conf drifted, and when that was last certain (wall clock).
     */
    previousFingerprint?: Readonly<{ fingerprint: string; untilMs: number }> | undefined;
    comparison?: ConfigComparison | undefined;
    otherWriter?: OtherWriter | undefined;
    corrected: readonly string[];
    goodHash?: string | undefined;
    /** Message, including the remedy, if correct content couldn't be stored as good. */
    goodNotKept?: string | undefined;
  }>;

export type ObservedConfig = Observation<ConfigState>;

type ConfigReport = ConditionReport<"ConfigReconciled">;

const type = "ConfigReconciled";

export function deriveConfigConditions(found: ConfigState, command: CommandText): readonly ConditionReport[] {
  const { validity, otherWriter, corrected } = found;
  const own = deriveConfigReconciled(found);
  if (otherWriter === undefined) return own === undefined ? [] : [own];
  const contest = reportContest(otherWriter, corrected, command);
  // If the file can't be used, the other writer is the likely cause.
  return [validity?.ok === false ? { ...contest, message: `${own?.message} ${contest.message}` } : contest];
}

/** Reports whether node.conf can be used and matches the desired configuration, regardless of other writers; undefined before the first check. Pure. */
export function deriveConfigReconciled({
  validity,
  comparison,
}: Pick<ConfigState, "validity" | "comparison">): ConfigReport | undefined {
  if (validity?.ok === false) return describeUnusable(validity);
  return comparison && describeComparison(comparison, validity?.path ?? "node.conf");
}

function describeUnusable({ problem, next }: Extract<ConfigValidity, { ok: false }>): ConfigReport {
  const { reason, message } = problem;
  if (next === "stays") {
    const unguarded = isUnusableByNode(reason)
      ? "Nothing is restored, and the node is not restarted"
      : "Nothing is restored or corrected";
    const until = `${unguarded} until this is fixed; a running node keeps the configuration that it read at startup.`;
    return { type, status: "False", reason, message: `${message} ${until}` };
  }
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
    const message = `${capitalize(result.message)} node.conf differs from the desired configuration: ${changes}`;
    return { type, status: "False", reason: result.reason, message };
  }
  if (result?.ok === false && result.reason !== "ChangedMeanwhile") {
    const message = `${result.message} Retried whenever node.conf is reread.`;
    return { type, status: "False", reason: result.reason, message };
  }
  for (const { reason, message } of planned.problems) {
    if (reason !== "CannotDisable") return { type, status: "False", reason, message: capitalize(message) };
  }
  const action = findWrite(planned);
  if (action === undefined)
    return { type, status: "True", reason: "Reconciled", message: `${path} matches the desired configuration.` };
  const why = idle ?? "it is being corrected";
  const list = action.changes.map(describeChange).join("; ");
  return {
    type,
    status: "False",
    reason: "Drift",
    message: `node.conf differs from the desired configuration, and ${why}: ${list}`,
  };
}

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
