import { dirname } from "node:path";

/**
 * Steps before the node is stopped, of an upgrade whose data are copied while it runs. The second is taken where the first fails, and ends it: nothing of
 * the node was touched.
 */
export const earlyStages = ["pre-copying", "giving-up"] as const;

/** Steps to the new version, in order. */
export const forwardStages = ["stopping", "copying", "installing", "migrating", "proving", "cleaning"] as const;

/**
 * Steps back to the old version, in order. The data come last: whatever starts the node once the only copy stands in their place starts the
 * old version.
 */
export const backwardStages = ["back-stopping", "back-programs", "back-config", "back-data", "back-proving"] as const;

export type EarlyStage = (typeof earlyStages)[number];
export type ForwardStage = (typeof forwardStages)[number];
export type BackwardStage = (typeof backwardStages)[number];
export type UpgradeStage = EarlyStage | ForwardStage | BackwardStage;

/**
 * How an upgrade ended: `given-up` before the node was stopped for it; `stranded` when neither version could be proved, or the data could not be put back; `settled` when the node of a stranded one
 * answered again once a person had lifted its hold.
 */
export const upgradeEnds = ["committed", "rolled-back", "given-up", "stranded", "settled"] as const;

export type UpgradeEnd = (typeof upgradeEnds)[number];

/**
 * How the node's data are copied: `reflink` by cloning alone, `copy` in full, `auto` by cloning where the file system can, `rsync` in full while the node
 * runs, and what has changed since once more.
 */
export type SnapshotMethod = "auto" | "reflink" | "copy" | "rsync";

/** A directory of the node's data, where its copy stands, and where what the new version made of it is put aside. */
export type UpgradeStore = Readonly<{ path: string; copy: string; aside: string }>;

/** A program that is put into the bin directory, relative to it; its content as it was when the plan was shown. */
export type ReleaseFile = Readonly<{ name: string; sha256: string }>;

/** A process, distinguished from a later one with the same id by its start (clock ticks since the machine's). */
export type ProcessMark = Readonly<{ pid: number; startTicks: number }>;

/** What was known of the node before it was stopped, to prove either version by. */
export type NodeBefore = Readonly<{
  height: number;
  /** A block that no reorganisation reaches any more; absent where the node did not return it. */
  block?: Readonly<{ number: number; hash: string }> | undefined;
  autoPrune: boolean;
  /** The process that answered on the node's port; absent where it can't be seen: of another user, or on another system than Linux. */
  process?: ProcessMark | undefined;
  /** Whether the running node reports its version itself; node_cli is queried otherwise. */
  tellsVersion: boolean;
}>;

/** An upgrade as it is remembered: what was agreed to, and how far it is. Paths are absolute. */
export type UpgradeRecord = Readonly<{
  from: string;
  to: string;
  /** The directory with the new version's programs. */
  source: string;
  files: readonly ReleaseFile[];
  binDirectory: string;
  configPath: string;
  /** Where the old programs and node.conf are kept, and the data of the first store. */
  directory: string;
  stores: readonly UpgradeStore[];
  method: SnapshotMethod;
  /** Of one whose data are copied while the node runs: what is looked at once more before the node is stopped, and the plan that it has to be by then. */
  preCopy?:
    | Readonly<{ request: Readonly<{ source: string; version?: string | undefined }>; digest: string }>
    | undefined;
  /** Of one that was given up: whether a person withdrew it, or has taken note. */
  isWithdrawn?: boolean | undefined;
  /**
   * Of a restore alone, which goes the steps of an upgrade to the same version: the snapshot of each store. A store's copy is then of the snapshot, and what is
   * put aside are the old data.
   */
  restoredFrom?: readonly string[] | undefined;
  /** Of a restore that the sidecar began by itself: why the data were taken for corrupt. */
  foundCorrupt?: readonly string[] | undefined;
  /** Whether the copy of the data stays once the new version is proved. */
  keepsCopy: boolean;
  before: NodeBefore;
  /** Wall clock. */
  beganMs: number;
  stage: UpgradeStage;
  stageSinceMs: number;
  /** How often this stage, or the way back, was tried. */
  attempts: number;
  /** How often a sidecar ended in the middle of this stage. */
  interruptions: number;
  /** Whether the new version may have been started, by whomever, and so may have written to the data: its programs may be in place. */
  newRan: boolean;
  /** Whether the way back, tried again because other things are desired now, waits for the restart budget: nobody has requested it. */
  waitsForBudget?: boolean | undefined;
  /** Why it went back. */
  failure?: string | undefined;
  end?: UpgradeEnd | undefined;
  /** What a person has to know of its end. */
  note?: string | undefined;
}>;

/** Whether the node runs on untouched in a stage. */
export function isEarly(stage: UpgradeStage): stage is EarlyStage {
  return (earlyStages as readonly string[]).includes(stage);
}

/** Steps that lead an upgrade to its new version, in order. */
export function listSteps({ preCopy }: Pick<UpgradeRecord, "preCopy">): readonly UpgradeStage[] {
  return preCopy === undefined ? forwardStages : ["pre-copying", ...forwardStages];
}

/** The directories that hold what an upgrade keeps: next to each store, and each once. */
export function listUpgradeDirectories({
  directory,
  stores,
}: Pick<UpgradeRecord, "directory" | "stores">): readonly string[] {
  return [...new Set([directory, ...stores.map(({ copy }) => dirname(copy))])];
}

/**
 * Says what becomes of a stranded upgrade once its hold is lifted: a node that is back was repaired, and is left as it is; else the way back is tried again from
 * its beginning. One that nobody has requested waits for the restart budget. Pure.
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
