import type { Observation } from "#health/observation.ts";
import type { ConditionReport } from "#status/condition.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { listStages, stageDescriptions } from "../../upgrade/progress.ts";
import { firstNewVersionStage, listUpgradeDirectories, type UpgradeRecord } from "../state/upgrade-record.ts";
import { capitalize } from "../sentence.ts";

export type UpgradeState = Readonly<{
  record: UpgradeRecord | undefined;
  /** Start time of an upgrade approved in this process, so that no earlier sidecar can have started its first step. */
  agreedMs: number | undefined;
  blocked: string | undefined;
}>;

export type ObservedUpgrade = Observation<UpgradeState>;

/** Derives the condition for the last upgrade; none if there was no upgrade. Pure. */
export function deriveUpgradeConditions({ record, blocked }: UpgradeState): readonly ConditionReport[] {
  const type = "UpgradeVerified";
  if (record === undefined) return [];
  const message = [formatUpgrade(record), blocked].filter(Boolean).join(" ");
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

export function formatUpgrade(record: UpgradeRecord): string {
  const { from, to, stage, failure, end, note, stores, directory } = record;
  const what = `The upgrade from ${from} to ${to}`;
  const why = failure === undefined ? "" : ` ${capitalize(to)} failed: ${failure}.`;
  const more = note === undefined ? "" : ` ${formatSentence(note)}`;
  const remove = `rm -r -- ${listUpgradeDirectories(record).map(quoteShellWord).join(" ")}`;
  switch (end) {
    case "committed":
      return `${what} is verified.${more}`;
    case "rolled-back": {
      const asides = stores.map(({ aside }) => aside).join(" and ");
      const kept =
        stage === "back-proving"
          ? ` The data of ${to} is in ${asides}; remove it once it is no longer needed: ${remove}`
          : "";
      return `${what} was rolled back: the node runs as ${from} again, with its old data and old node.conf.${why}${more}${kept}`;
    }
    case "settled":
      return `${what} failed, and so did the rollback; the node has since responded again, so nothing more is tried.${why}${more} Its copies are kept; remove them once they are no longer needed: ${remove}`;
    case "stranded": {
      const copies = stores.map(({ path, copy }) => `${path} from ${copy}, if that exists`);
      return (
        `${what} failed, and so did the rollback, while ${stageDescriptions[stage]}:${more}${why} Nothing more is attempted until gatehouse resume. ` +
        `To recover manually, stop the node, restore ${copies.join("; ")}; the old binaries are in ${directory}/programs, node.conf is ${directory}/node.conf.`
      );
    }
    default: {
      const stages = listStages(record, firstNewVersionStage);
      const way = failure === undefined ? "is in progress" : "is being rolled back";
      const since = new Date(record.stageSinceMs).toISOString();
      return `${what} ${way}: ${stageDescriptions[stage]} (step ${stages.indexOf(stage) + 1} of ${stages.length}) since ${since}.${why}`;
    }
  }
}

function formatSentence(text: string): string {
  return /[.!?]$/.test(text) ? capitalize(text) : `${capitalize(text)}.`;
}
