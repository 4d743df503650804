import { dirname } from "node:path";
import type { Progress } from "../../upgrade/next-stage.ts";
import type { NodeBefore } from "../../upgrade/node-before.ts";
import type { ReleaseCommits } from "#node/versions.ts";

/** Forward stages, which lead to the new version, in order. */
export const forwardStages = ["stopping", "copying", "installing", "migrating", "proving", "cleaning"] as const;

/**
 * Rollback stages, which lead to the old version, in order, once the new version may have run. The data comes last: once the only copy of
 * it is in place, any start of the node starts the old version.
 */
export const backwardStages = ["back-stopping", "back-programs", "back-config", "back-data", "back-proving"] as const;

export type ForwardStage = (typeof forwardStages)[number];
/** `back-discarding` replaces the restore if only the old version has run. */
export type BackwardStage = (typeof backwardStages)[number] | "back-discarding";
export type UpgradeStage = ForwardStage | BackwardStage;

/**
 * Outcomes of an upgrade. `stranded`: neither version could be verified, or the data could not be restored. `settled`: the upgrade was
 * stranded, but the node responded again once its pause was lifted.
 */
export const upgradeEnds = ["committed", "rolled-back", "stranded", "settled"] as const;

export type UpgradeEnd = (typeof upgradeEnds)[number];

/** Directory that holds the node's data, and the paths of its copy and, once moved aside, of the new version's data. */
export type UpgradeStore = Readonly<{ path: string; copy: string; aside: string }>;

/** A program for the bin directory: its relative path, and the hash of its content when the plan was shown. */
export type ReleaseFile = Readonly<{ name: string; sha256: string }>;

/** A process, distinguished from a later process with the same id by its start time (clock ticks since boot). */
export type ProcessMark = Readonly<{ pid: number; startTicks: number }>;

/** Facts about the node before it was stopped. */
export type HostNodeBefore = NodeBefore &
  Readonly<{
    /** The process that listened on the node's port; absent if it is invisible because it belongs to another user or the system is not Linux. */
    process?: ProcessMark | undefined;
  }>;

/** Record of an upgrade: the approved plan, and the progress. Paths are absolute. */
export type UpgradeRecord = Progress &
  Readonly<{
    stage: UpgradeStage;
    /** Version of the programs, or else their commit. */
    from: string;
    to: string;
    /** Commits of both versions, if their programs report them. */
    commits?: Readonly<Partial<Record<"from" | "to", string | undefined>>> | undefined;
    /** Directory that contains the new version's programs. */
    source: string;
    files: readonly ReleaseFile[];
    binDirectory: string;
    configPath: string;
    /** Directory that receives the old programs and node.conf, and the first store's data. */
    directory: string;
    stores: readonly UpgradeStore[];
    /** Whether the data copy is retained once the new version is verified. */
    keepsCopy: boolean;
    before: HostNodeBefore;
    end?: UpgradeEnd | undefined;
  }>;

/** Returns the commit of a verified upgrade, with its release according to the requester. */
export function findUpgradedCommit(record: UpgradeRecord | undefined): ReleaseCommits {
  const { commits, to, end } = record ?? {};
  return end === "committed" && to !== undefined && commits?.to !== undefined ? { [commits.to]: to } : {};
}

/** Lists the directories that hold an upgrade's copies, next to each store, without duplicates. */
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
export function decideAfterHold(record: UpgradeRecord, isBack: boolean, nowMs: number): UpgradeRecord {
  if (isBack) return { ...record, end: "settled", note: undefined };
  const begins = { stage: "back-stopping", stageSinceMs: nowMs, attempts: 0, interruptions: 0 } as const;
  return { ...record, ...begins, end: undefined, note: undefined };
}
