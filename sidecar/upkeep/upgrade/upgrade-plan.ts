import { hash } from "node:crypto";
import { describeChange } from "#node/conf/describe-change.ts";
import { clonedSizeText, formatSize } from "../../upgrade/data-size.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { findWrite } from "../plan/plan.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import type { CopyCost } from "./data/data-stores.ts";
import type { RequestedUpgrade } from "./requested-upgrade.ts";

type UpgradePlan = RequestedUpgrade["plan"];

type UpgradeFindings = Pick<UpgradeRecord, "source" | "from" | "files" | "stores"> &
  Pick<UpgradePlan, "problems" | "warnings"> &
  Readonly<{ to: string | undefined; costs: readonly (CopyCost | undefined)[]; write: ReturnType<typeof findWrite> }>;

export function planUpgrade(
  { from, to, files, source, stores, costs, write, problems, warnings }: UpgradeFindings,
  { restart, upgrade }: Pick<SidecarSettings, "restart" | "upgrade">,
): UpgradePlan {
  const { answersWithinMs, healthyWithinMs, metricsWithinMs } = restart;
  const { keepSnapshot } = upgrade;
  const paths = stores.map(({ path }) => path).join(" and ");
  const more = files.length > namesShown ? ` and ${files.length - namesShown} more` : "";
  const programs = files.slice(0, namesShown).map(({ name }) => name);
  const changes = write?.changes.map(describeChange).join("; ");
  const steps = [
    `Stop the node (${from}).`,
    `Copy its data (${paths}) while it is stopped: ${describeCopy(costs, upgrade)}. Save its programs and node.conf, too.`,
    `Replace the old programs by ${programs.join(", ")}${more} from ${source}.`,
    changes === undefined ? "Leave node.conf unchanged." : `Change node.conf: ${changes}.`,
    `Start ${to ?? "the new version"} and verify it: it responds (${answersWithinMs} ms), reports its version and advances past the old height with the ` +
      `same blocks (${healthyWithinMs} ms), its metrics arrive where they are checked (${metricsWithinMs} ms), and pruning is as before.`,
    keepSnapshot
      ? "Once it is verified, keep the copy of the data (upgrade.keepSnapshot)."
      : "Once it is verified, remove the copy of the data and the old programs (upgrade.keepSnapshot is false): from then on there is no rollback to the old data.",
    "If anything fails before: restore the old data, programs and node.conf, verify the old version, and pause. Blocks that the new version received are fetched again.",
  ];
  const agreed = [source, from, to, files, paths, keepSnapshot, write?.text];
  const digest = hash("sha256", JSON.stringify(agreed)).slice(0, 16);
  const known = to === undefined ? {} : { to };
  return { from, ...known, steps: problems.length > 0 ? [] : steps, problems, warnings, digest };
}

const namesShown = 12;

function describeCopy(costs: readonly (CopyCost | undefined)[], limit: SidecarSettings["upgrade"]): string {
  const known = costs.filter((cost) => cost !== undefined);
  const size = formatSize(known.reduce((sum, cost) => sum + cost.bytes, 0));
  if (known.every((cost) => cost.isCloned)) return `${size}, ${clonedSizeText}`;
  return `${size}, copied in full within ${limit.copyTimeoutMs} ms (upgrade.copyTimeoutMs)`;
}
