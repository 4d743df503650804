import { createObservation, type Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandText } from "../command-words.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { isEarly, listSteps, listUpgradeDirectories, type UpgradeRecord } from "../state/upgrade-record.ts";
import { isBackward, listBack, upgradeRoute } from "./upgrade-route.ts";

const { words: stageWords } = upgradeRoute;

/** Last observed state of the node's upgrade. */
export type UpgradeObservation = Readonly<{
  /** Current or last upgrade. */
  record: UpgradeRecord | undefined;
  /** Start time of an upgrade that was approved in this process, which means that no earlier sidecar started its first step. */
  agreedMs: number | undefined;
  /** Reason why the upgrade can't continue. */
  blocked: string | undefined;
  /** Reason why the node, whose data has been copied, couldn't be stopped at the last check. */
  trouble: string | undefined;
  /** Steps that are running before the node is stopped; `end` aborts them at once. */
  preCopying: Readonly<{ done: Promise<void>; end: () => void }> | undefined;
}>;

export type ObservedUpgrade = Observation<UpgradeObservation>;

/** Creates the observation of upgrades, starting with the stored upgrade. */
export function observeUpgrade(record: UpgradeRecord | undefined, onChange?: () => void): ObservedUpgrade {
  const nothing = { agreedMs: undefined, blocked: undefined, trouble: undefined, preCopying: undefined };
  return createObservation<UpgradeObservation>({ ...nothing, record }, onChange);
}

/** Derives the condition for the last upgrade; none if there was no upgrade. Pure. */
export function deriveUpgradeConditions(seen: UpgradeObservation, command: CommandText): readonly ConditionReport[] {
  const { record, blocked } = seen;
  const type = "UpgradeVerified";
  if (record === undefined) return [];
  const message = [formatUpgrade(record), blocked].filter(Boolean).join(" ");
  if (blocked === undefined && (isEarly(record.stage) || record.end === "given-up")) {
    return [deriveEarly(record, seen.trouble, command)];
  }
  if (record.end === undefined) {
    // The node may be down, so the operator must check.
    if (blocked !== undefined) return [{ type, status: "False", reason: "Blocked", message }];
    return [{ type, status: "Unknown", reason: "Upgrading", message }];
  }
  if (record.end === "settled") return [{ type, status: "True", reason: "ResolvedManually", message }];
  if (record.end === "committed") return [{ type, status: "True", reason: "Verified", message }];
  const reason = record.end === "rolled-back" ? "RolledBack" : "RollbackFailed";
  return [{ type, status: "False", reason, message }];
}

/** Derives the condition for an upgrade that hasn't stopped the node yet. Pure. */
function deriveEarly(record: UpgradeRecord, trouble: string | undefined, command: CommandText): ConditionReport {
  const type = "UpgradeVerified";
  const words = formatUpgrade(record);
  const cancel = command("upgrade --cancel");
  if (record.isWithdrawn === true && record.end !== undefined)
    return { type, status: "True", reason: "Canceled", message: words };
  if (record.end !== undefined) {
    return {
      type,
      status: "False",
      reason: "NotStarted",
      message: `${words} Request it again, or give it up: ${cancel}`,
    };
  }
  const waits = trouble === undefined ? "" : ` The data are copied, and the node can't be stopped now: ${trouble}.`;
  const withdraw = record.stage === "pre-copying" ? ` Withdraw it: ${cancel}` : "";
  return { type, status: "Unknown", reason: "Preparing", message: `${words}${waits}${withdraw}` };
}

/** Formats an upgrade or a restore as the subject of a sentence. Pure. */
export function formatUpgradeSubject({ from, to, restoredFrom }: UpgradeRecord): string {
  return restoredFrom === undefined
    ? `The upgrade from ${from} to ${to}`
    : `The restore of the node's data from ${restoredFrom.join(" and ")}`;
}

/** Formats the state of an upgrade for display. Pure. */
export function formatUpgrade(record: UpgradeRecord): string {
  if (record.restoredFrom !== undefined) return formatRestore(record);
  const { from, to, stage, failure, end, note, stores, directory } = record;
  const what = formatUpgradeSubject(record);
  const why = failure === undefined ? "" : ` ${beginWithCapital(to)} failed: ${failure}.`;
  const more = note === undefined ? "" : ` ${formatSentence(note)}`;
  if (end === "committed") return `${what} is proved.${more}`;
  const since = new Date(record.stageSinceMs).toISOString();
  if (end === "given-up" || stage === "giving-up") {
    const step = end === undefined ? ` Now ${stageWords["giving-up"]}, since ${since}.` : "";
    return `${what} did not begin: ${failure}. The node was not stopped for it.${step}${more}`;
  }
  const asides = stores.map(({ aside }) => aside).join(" and ");
  if (end === "rolled-back") {
    const kept = record.newRan
      ? ` The data as they were with ${to} in place are in ${asides}; remove them when they are of no use: rm -r -- ${listUpgradeDirectories(record).map(quoteShellWord).join(" ")}`
      : "";
    return `${what} was rolled back: the node runs as ${from} again, with its old data and old node.conf.${why}${more}${kept}`;
  }
  if (end === "settled") {
    return (
      `${what} failed, and so did the way back; the node answers again since, so nothing more is tried.${why}${more} ` +
      `What is kept is in these directories; remove them when they are of no use: rm -r -- ${listUpgradeDirectories(record).map(quoteShellWord).join(" ")}`
    );
  }
  if (end === "stranded") {
    const copies = stores.map(({ path, copy }) => `${path} from ${copy}, if that is there`).join("; ");
    return (
      `${what} failed, and so did the way back, while ${stageWords[stage]}:${more}${why} Nothing more is tried until the hold is lifted. ` +
      `By hand: stop the node, restore ${copies}; the old programs are in ${directory}/programs, node.conf is ${directory}/node.conf.`
    );
  }
  const stages = isBackward(stage) ? listBack(record) : listSteps(record);
  const way = isBackward(stage) ? "goes back" : "is under way";
  return `${what} ${way}: ${stageWords[stage]} (step ${stages.indexOf(stage) + 1} of ${stages.length}) since ${since}.${why}`;
}

function formatRestore(record: UpgradeRecord): string {
  const { stage, failure, end, note, stores, directory } = record;
  const what = formatUpgradeSubject(record);
  const why = failure === undefined ? "" : ` It failed: ${failure}.`;
  const more = note === undefined ? "" : ` ${formatSentence(note)}`;
  const remove = `rm -r -- ${listUpgradeDirectories(record).map(quoteShellWord).join(" ")}`;
  if (end === "committed") return `${what} is proved: the node runs with them.${more}`;
  if (end === "rolled-back") {
    return `${what} was rolled back: the node runs with its old data.${why}${more} What was restored is in ${directory}; remove it when it is of no use: ${remove}`;
  }
  if (end === "settled") {
    return `${what} failed, and the node answers again since, so nothing more is tried.${why}${more} What is kept can be removed when it is of no use: ${remove}`;
  }
  if (end === "stranded") {
    const asides = stores.map(({ path, aside }) => `${path} from ${aside}, if that is there`).join("; ");
    return `${what} failed, and so did a start with the old data, while ${stageWords[stage]}:${more}${why} Nothing more is tried until the hold is lifted. By hand: stop the node, and put back ${asides}; or restore another snapshot.`;
  }
  const since = new Date(record.stageSinceMs).toISOString();
  const way = isBackward(stage) ? "goes back" : "is under way";
  return `${what} ${way}: ${restoreStageWords[stage] ?? stageWords[stage]} since ${since}.${why}`;
}

/** Stage descriptions that differ between a restore and an upgrade. */
const restoreStageWords: Partial<Readonly<Record<UpgradeRecord["stage"], string>>> = {
  copying: "copying the snapshot",
  installing: "putting the copy of the snapshot in the place of the data",
  proving: "starting and proving the node",
  cleaning: "removing the old data",
  "back-proving": "starting the node with the old data",
};

function beginWithCapital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function formatSentence(text: string): string {
  return /[.!?]$/.test(text) ? beginWithCapital(text) : `${beginWithCapital(text)}.`;
}
