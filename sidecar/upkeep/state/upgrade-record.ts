import { dirname } from "node:path";
import type { Progress } from "../../upgrade/next-stage.ts";
import type { NodeBefore } from "../../upgrade/node-before.ts";
import type { ReleaseCommits } from "#node/versions.ts";

/**
 * Stages before the node is stopped, of an upgrade whose data are copied while it runs. The second follows if the first fails, and ends the upgrade: nothing
 * of the node was touched.
 */
export const earlyStages = ["pre-copying", "giving-up"] as const;

/** Stages to the new version, in order. */
export const forwardStages = ["stopping", "copying", "installing", "migrating", "proving", "cleaning"] as const;

/**
 * Stages back to the old version, in order, once the new one may have run. The data come last: whatever starts the node once the only copy is in their place
 * starts the old version.
 */
export const backwardStages = ["back-stopping", "back-programs", "back-config", "back-data", "back-proving"] as const;

export type EarlyStage = (typeof earlyStages)[number];
export type ForwardStage = (typeof forwardStages)[number];
/** `back-discarding` in place of putting back while only the old version has run. */
export type BackwardStage = (typeof backwardStages)[number] | "back-discarding";
export type UpgradeStage = EarlyStage | ForwardStage | BackwardStage;

/**
 * Ends of an upgrade: `given-up` before the node was stopped for it; `stranded` if neither version could be proved, or the data could not be put back;
 * `settled` if the node of a stranded one answered again once its hold was lifted.
 */
export const upgradeEnds = ["committed", "rolled-back", "given-up", "stranded", "settled"] as const;

export type UpgradeEnd = (typeof upgradeEnds)[number];

/**
 * Method of copying the node's data: `reflink` by cloning alone, `copy` in full, `auto` by cloning if the file system can, `rsync` in full while the node
 * runs, and then once more the files that have changed.
 */
export type SnapshotMethod = "auto" | "reflink" | "copy" | "rsync";

/** Directory of the node's data, and the paths of its copy and of the data that the new version leaves, once they are put aside. */
export type UpgradeStore = Readonly<{ path: string; copy: string; aside: string }>;

/** Program for the bin directory, by its path relative to that, and the hash of its content when the plan was shown. */
export type ReleaseFile = Readonly<{ name: string; sha256: string }>;

/** Process, distinguished from a later one with the same id by its start (clock ticks since the machine's start). */
export type ProcessMark = Readonly<{ pid: number; startTicks: number }>;

/** Facts of the node before it was stopped. */
export type HostNodeBefore = NodeBefore &
  Readonly<{
    /** Process that answered on the node's port; absent if it can't be seen, because it is another user's or the system is not Linux. */
    process?: ProcessMark | undefined;
  }>;

/** Record of an upgrade: the plan that was agreed to, and the progress. Paths are absolute. */
export type UpgradeRecord = Progress<UpgradeStage> &
  Readonly<{
    /** Version, else the commit of the programs. */
    from: string;
    to: string;
    /** Commits of both, as far as their programs show them. */
    commits?: Readonly<Partial<Record<"from" | "to", string | undefined>>> | undefined;
    /** Directory with the new version's programs. */
    source: string;
    files: readonly ReleaseFile[];
    binDirectory: string;
    configPath: string;
    /** Directory that keeps the old programs and node.conf, and the data of the first store. */
    directory: string;
    stores: readonly UpgradeStore[];
    method: SnapshotMethod;
    /** Only if the data are copied while the node runs: the request that is checked once more before the node is stopped, and the digest that its plan must have then. */
    preCopy?:
      | Readonly<{ request: Readonly<{ source: string; version?: string | undefined }>; digest: string }>
      | undefined;
    /** Whether a person withdrew it, or has taken note that it was given up. */
    isWithdrawn?: boolean | undefined;
    /**
     * Only of a restore, which takes the stages of an upgrade to the same version: the snapshot of each store. A store's copy is then that of the snapshot, and
     * the old data are put aside.
     */
    restoredFrom?: readonly string[] | undefined;
    /** Only of a restore that the sidecar began by itself: the signs of corrupt data. */
    foundCorrupt?: readonly string[] | undefined;
    /** Whether the copy of the data stays once the new version is proved. */
    keepsCopy: boolean;
    before: HostNodeBefore;
    /** Whether the way back waits for the restart budget: it is tried again because the desired state changed, and nobody has requested it. */
    waitsForBudget?: boolean | undefined;
    end?: UpgradeEnd | undefined;
  }>;

/** Returns the commit of an upgrade that was proved, with the release that it has by the word of whoever requested it. */
export function findUpgradedCommit(record: UpgradeRecord | undefined): ReleaseCommits {
  const { commits, to, end } = record ?? {};
  return end === "committed" && to !== undefined && commits?.to !== undefined ? { [commits.to]: to } : {};
}

/** Whether the node runs on untouched in a stage. */
export function isEarly(stage: UpgradeStage): stage is EarlyStage {
  return (earlyStages as readonly string[]).includes(stage);
}

/** Lists the stages that lead an upgrade to its new version, in order. */
export function listSteps({ preCopy }: Pick<UpgradeRecord, "preCopy">): readonly UpgradeStage[] {
  return preCopy === undefined ? forwardStages : ["pre-copying", ...forwardStages];
}

/** Lists the directories in which an upgrade keeps its copies, next to each store; each once. */
export function listUpgradeDirectories({
  directory,
  stores,
}: Pick<UpgradeRecord, "directory" | "stores">): readonly string[] {
  return [...new Set([directory, ...stores.map(({ copy }) => dirname(copy))])];
}

/**
 * Decides how a stranded upgrade goes on once its hold is lifted: a node that is back was repaired, and is left as it is; else the way back is tried again
 * from its beginning. If no person lifted the hold, that waits for the restart budget. Pure.
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
