import { dirname } from "node:path";
import type { Progress } from "../../upgrade/next-stage.ts";
import type { NodeBefore } from "../../upgrade/node-before.ts";
import type { ReleaseCommits } from "#node/versions.ts";

/**
 * Stages before the node is stopped, of an upgrade that copies the data of a running node. The second follows if the first fails, and ends
 * the upgrade without having touched the node.
 */
export const earlyStages = ["pre-copying", "giving-up"] as const;

/** Forward stages to the new version, in order. */
export const forwardStages = ["stopping", "copying", "installing", "migrating", "proving", "cleaning"] as const;

/**
 * Rollback stages to the old version, in order, once the new one may have run. The data come last: once their only copy is in place, any
 * start of the node starts the old version.
 */
export const backwardStages = ["back-stopping", "back-programs", "back-config", "back-data", "back-proving"] as const;

export type EarlyStage = (typeof earlyStages)[number];
export type ForwardStage = (typeof forwardStages)[number];
/** `back-discarding` replaces the restore while only the old version has run. */
export type BackwardStage = (typeof backwardStages)[number] | "back-discarding";
export type UpgradeStage = EarlyStage | ForwardStage | BackwardStage;

/**
 * Outcomes of an upgrade: `given-up` before the node was stopped for it; `stranded` if neither version could be verified, or the data could
 * not be restored; `settled` if the node of a stranded one responded again once its pause was lifted.
 */
export const upgradeEnds = ["committed", "rolled-back", "given-up", "stranded", "settled"] as const;

export type UpgradeEnd = (typeof upgradeEnds)[number];

/**
 * Method of copying the node's data: `reflink` by cloning only, `copy` in full, `auto` by cloning if the file system can, `rsync` in full
 * while the node runs, and then again the files that have changed.
 */
export type SnapshotMethod = "auto" | "reflink" | "copy" | "rsync";

/** Directory of the node's data, and the paths of its copy and of the new version's data, once moved aside. */
export type UpgradeStore = Readonly<{ path: string; copy: string; aside: string }>;

/** Program for the bin directory, by its relative path, and the hash of its content when the plan was shown. */
export type ReleaseFile = Readonly<{ name: string; sha256: string }>;

/** Process, distinguished from a later one with the same id by its start (clock ticks since boot). */
export type ProcessMark = Readonly<{ pid: number; startTicks: number }>;

/** Facts about the node before it was stopped. */
export type HostNodeBefore = NodeBefore &
  Readonly<{
    /** Process that listened on the node's port; absent if invisible, because it belongs to another user or the system is not Linux. */
    process?: ProcessMark | undefined;
  }>;

/** Record of an upgrade: the approved plan, and the progress. Paths are absolute. */
export type UpgradeRecord = Progress<UpgradeStage> &
  Readonly<{
    /** Version, or else the commit of the programs. */
    from: string;
    to: string;
    /** Commits of both, if reported by their programs. */
    commits?: Readonly<Partial<Record<"from" | "to", string | undefined>>> | undefined;
    /** Directory with the new version's programs. */
    source: string;
    files: readonly ReleaseFile[];
    binDirectory: string;
    configPath: string;
    /** Directory for the old programs and node.conf, and the data of the first store. */
    directory: string;
    stores: readonly UpgradeStore[];
    method: SnapshotMethod;
    /** Only if the data are copied while the node runs: the request to recheck before the node is stopped, and the digest that its plan must have then. */
    preCopy?:
      | Readonly<{ request: Readonly<{ source: string; version?: string | undefined }>; digest: string }>
      | undefined;
    /** Whether the operator cancelled it, or acknowledged that it was given up. */
    isWithdrawn?: boolean | undefined;
    /**
     * Only for a restore, which takes the stages of an upgrade to the same version: the snapshot of each store. A store's copy is then that
     * of the snapshot, and the old data are moved aside.
     */
    restoredFrom?: readonly string[] | undefined;
    /** Whether the copy of the data is retained once the new version is verified. */
    keepsCopy: boolean;
    before: HostNodeBefore;
    /** Whether the rollback waits for the restart budget: it is retried because the desired state changed, not on the operator's request. */
    waitsForBudget?: boolean | undefined;
    end?: UpgradeEnd | undefined;
  }>;

/** Returns the commit of a verified upgrade, with its release according to the requester. */
export function findUpgradedCommit(record: UpgradeRecord | undefined): ReleaseCommits {
  const { commits, to, end } = record ?? {};
  return end === "committed" && to !== undefined && commits?.to !== undefined ? { [commits.to]: to } : {};
}

/** Whether a stage leaves the node running and untouched. */
export function isEarly(stage: UpgradeStage): stage is EarlyStage {
  return (earlyStages as readonly string[]).includes(stage);
}

/** Lists an upgrade's forward stages, in order. */
export function listSteps({ preCopy }: Pick<UpgradeRecord, "preCopy">): readonly UpgradeStage[] {
  return preCopy === undefined ? forwardStages : ["pre-copying", ...forwardStages];
}

/** Lists the directories of an upgrade's copies, next to each store, without duplicates. */
export function listUpgradeDirectories({
  directory,
  stores,
}: Pick<UpgradeRecord, "directory" | "stores">): readonly string[] {
  return [...new Set([directory, ...stores.map(({ copy }) => dirname(copy))])];
}

/**
 * Decides how a stranded upgrade continues once its pause is lifted: a recovered node was repaired, and is left alone; otherwise the
 * rollback is retried from its start. Unless the operator lifted the pause, that waits for the restart budget. Pure.
 */
export function decideAfterHold(
  record: UpgradeRecord,
  { isBack, byPerson }: Readonly<{ isBack: boolean; byPerson: boolean }>,
  nowMs: number,
): UpgradeRecord {
  if (isBack) return { ...record, end: "settled", note: undefined };
  const begins = { stage: "back-stopping", stageSinceMs: nowMs, attempts: 0, interruptions: 0 } as const;
  return { ...record, ...begins, end: undefined, note: undefined, waitsForBudget: !byPerson };
}
