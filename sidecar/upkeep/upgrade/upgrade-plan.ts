import { hash } from "node:crypto";
import { describeChange } from "#node/conf/describe-change.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { findWrite } from "../plan/plan.ts";
import type { ReleaseFile, SnapshotMethod, UpgradeStore } from "../state/upgrade-record.ts";
import type { CopyCost } from "./data/data-stores.ts";

/** Upgrade as shown to the operator for approval. */
export type UpgradePlan = Readonly<{
  from?: string;
  to?: string;
  steps: readonly string[];
  /** Reasons why the upgrade can't be done now. */
  problems: readonly string[];
  /** Warnings that don't block the upgrade. */
  warnings: readonly string[];
  /** Identifies this plan, so that only the plan that was shown is executed. */
  digest: string;
}>;

/** Findings on which the plan is based. */
export type UpgradeFindings = Readonly<{
  source: string;
  /** Version, or else the commit. */
  from: string | undefined;
  to: string | undefined;
  files: readonly ReleaseFile[];
  stores: readonly UpgradeStore[];
  costs: readonly (CopyCost | undefined)[];
  write: ReturnType<typeof findWrite>;
  problems: readonly string[];
  warnings: readonly string[];
  settings: Pick<SidecarSettings, "upgrade" | "restart">;
}>;

/** Builds the plan for an upgrade. Pure. */
export function planUpgrade(found: UpgradeFindings): UpgradePlan {
  const { from, to, files, source, stores, write, problems, warnings, settings } = found;
  const { answersWithinMs, healthyWithinMs, metricsWithinMs } = settings.restart;
  const paths = stores.map(({ path }) => path).join(" and ");
  const names = files.map(({ name }) => name);
  const shown =
    names.length > namesShown
      ? `${names.slice(0, namesShown).join(", ")} and ${names.length - namesShown} more`
      : names.join(", ");
  const keys = write === undefined ? "stays as it is" : `is changed: ${write.changes.map(describeChange).join("; ")}`;
  const stopped = from ?? "version not known";
  const steps = [
    ...(settings.upgrade.snapshot === "rsync"
      ? [
          `Copy its data (${paths}) while it runs, by rsync and behind its own reads and writes: ${describeCopy(found)}. What fails here leaves the node as it is, and is removed.`,
          `Stop the node (${stopped}) as soon as that is done, whatever time it is then, if it still is as it was agreed to.`,
          `Copy what has changed since: how long the node stands still depends on what changed meanwhile, and each file that did is copied in full. At most ${settings.upgrade.copyTimeoutMs} ms (upgrade.copyTimeoutMs). Keep its programs and node.conf, too.`,
        ]
      : [
          `Stop the node (${stopped}).`,
          `Copy its data (${paths}) while it stands still: ${describeCopy(found)}. Keep its programs and node.conf, too.`,
        ]),
    `Put ${shown} from ${source} in the place of the old programs.`,
    `node.conf ${keys}.`,
    `Start ${to ?? "the new version"}, and wait for proof: it answers (${answersWithinMs} ms), reports its version and advances past the old height with the ` +
      `same blocks (${healthyWithinMs} ms), its metrics arrive where they are checked (${metricsWithinMs} ms), and pruning is as it was.`,
    settings.upgrade.keepSnapshot
      ? "Once it is proved, the copy of the data stays (upgrade.keepSnapshot)."
      : "Once it is proved, remove the copy of the data and the old programs (upgrade.keepSnapshot is false): from then on there is no way back to the old data.",
    "If anything fails before: put old data, programs and node.conf back, prove the old version, and set a hold. Blocks that the new version took in are fetched again.",
  ];
  const { snapshot, keepSnapshot } = settings.upgrade;
  const agreed = [source, from, to, files, paths, snapshot, keepSnapshot, write?.text];
  const digest = hash("sha256", JSON.stringify(agreed)).slice(0, 16);
  const versions = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  return { ...versions, steps: problems.length > 0 ? [] : steps, problems, warnings, digest };
}

const namesShown = 12;

function describeCopy({ costs, settings }: UpgradeFindings): string {
  const known = costs.filter((cost) => cost !== undefined);
  const bytes = known.reduce((sum, cost) => sum + cost.bytes, 0);
  const size = `${(bytes / 2 ** 30).toFixed(2)} GiB`;
  const { snapshot, copyTimeoutMs, preCopyTimeoutMs } = settings.upgrade;
  if (mayClone(snapshot) && known.every((cost) => cost.isCloned)) {
    return `${size} are cloned, which takes seconds and no room at first`;
  }
  const limit =
    snapshot === "rsync"
      ? `${preCopyTimeoutMs} ms (upgrade.preCopyTimeoutMs)`
      : `${copyTimeoutMs} ms (upgrade.copyTimeoutMs)`;
  return `${size} are copied in full, for at most ${limit}`;
}

/** Whether a copy method clones files if the file system supports it. Pure. */
export function mayClone(method: SnapshotMethod): boolean {
  return method === "auto" || method === "reflink";
}
