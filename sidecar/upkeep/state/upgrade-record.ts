import { dirname } from "node:path";
import type { ProcessIdentity } from "#daemon/process/running-process.ts";
import { restartRollback, type ForwardStage, type Progress } from "../../upgrade/progress.ts";
import type { NodeBaseline } from "../../upgrade/node-baseline.ts";
import type { ReleaseCommits } from "#node/versions.ts";

/** Directory that holds the node's data, and the paths of its copy and, once moved aside, of the new version's data. */
export type UpgradeStore = Readonly<{ path: string; copy: string; aside: string }>;

/** A program for the bin directory: its relative path, and the hash of its content when the plan was shown. */
export type ReleaseFile = Readonly<{ name: string; sha256: string }>;

export type HostNodeBaseline = NodeBaseline &
  Readonly<{
    /** The process that listened on the node's port; absent if it is invisible because it belongs to another user or the system is not Linux. */
    process?: ProcessIdentity | undefined;
  }>;

/** Record of an upgrade: the approved plan, and the progress. Paths are absolute. */
export type UpgradeRecord = Progress &
  Readonly<{
    from: string;
    to: string;
    commits?: Readonly<Partial<Record<"from" | "to", string | undefined>>> | undefined;
    source: string;
    files: readonly ReleaseFile[];
    binDirectory: string;
    configPath: string;
    directory: string;
    stores: readonly UpgradeStore[];
    keepsCopy: boolean;
    before: HostNodeBaseline;
  }>;

/** First stage in which the new version may run: a supervisor may start the node as soon as the first new program is in place. */
export const firstNewVersionStage: ForwardStage = "installing";

export function findUpgradedCommit(record: UpgradeRecord | undefined): ReleaseCommits {
  const { commits, to, end } = record ?? {};
  return end === "committed" && to !== undefined && commits?.to !== undefined ? { [commits.to]: to } : {};
}

export function listUpgradeDirectories({
  directory,
  stores,
}: Pick<UpgradeRecord, "directory" | "stores">): readonly string[] {
  return [...new Set([directory, ...stores.map(({ copy }) => dirname(copy))])];
}

/**
 * Decides how a stranded upgrade continues once its pause is lifted. A node that has recovered was repaired, and is left alone; otherwise
 * the rollback is retried from its start. Pure.
 */
export function decideAfterPause(record: UpgradeRecord, hasRecovered: boolean, nowMs: number): UpgradeRecord {
  return hasRecovered ? { ...record, end: "settled", note: undefined } : restartRollback(record, nowMs);
}
