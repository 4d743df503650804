import type { StackCheck } from "./check-stack.ts";
import { stackRoute } from "./stack-route.ts";
import { formatContinueCommand } from "./stack-commands.ts";
import { describePlatform } from "./describe-platform.ts";
import type { DeployedStack } from "./deployed-stack.ts";
import type { StackRecord, UpgradeSide } from "./stack-record.ts";

/** Formats an upgrade's plan for the operator to confirm, printed after the stack's name. Pure. */
export function formatStackPlan(
  place: DeployedStack,
  to: UpgradeSide,
  { problems, warnings, copyWords }: Pick<StackCheck, "problems" | "warnings" | "copyWords">,
  { proveMs }: StackRecord["limits"],
): string {
  const { from, stack } = place;
  const { plan } = describePlatform(place);
  const set = [
    `nodeImage ${to.image}`,
    ...(to.nodeVersion === undefined || to.nodeVersion === from.nodeVersion ? [] : [`nodeVersion ${to.nodeVersion}`]),
  ];
  const steps = [
    plan.stop,
    plan.copy(copyWords),
    `Set ${set.join(" and ")} in the configuration of ${stack}.`,
    plan.update,
    `Wait for proof for at most ${proveMs} ms: it answers as ${to.version}, is above the old height with the same blocks, node.conf is as it needs it, and it prunes and pushes metrics if it did.`,
    plan.clean,
  ];
  const lines = [
    `from ${from.version} (${from.image}) to ${to.version} (${to.image}).`,
    ...(problems.length > 0 ? [] : [...steps.map((step, index) => `  ${index + 1}. ${step}`), `  ${plan.back}`]),
    ...warnings.map((warning) => `  warning: ${warning}`),
    ...problems.map((problem) => `  problem: ${problem}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** Describes the upgrade in flight in one line. Pure. */
export function describeRecord({ stack, from, to, stage, end, beganMs }: StackRecord): string {
  const where = end === "stranded" ? "stranded: its way back failed" : `was ${stackRoute.words[stage]}`;
  return `the upgrade of ${stack} from ${from.version} to ${to.image}, begun ${new Date(beganMs).toISOString()}, ${where}`;
}

/** Formats the outcome of an upgrade for the operator. Pure. */
export function formatEnd(record: StackRecord): string {
  const { stack, from, to, end, failure, note, reportedVersion } = record;
  const notes = note === undefined ? "" : `\n${note}`;
  const proof =
    reportedVersion === true ? "as it says itself" : `${describePlatform(record).imageProof}: it reports no version`;
  switch (end) {
    case "committed":
      return `Proved: ${stack} runs ${to.version} (${to.image}), ${proof}. Commit its changed configuration.${notes}`;
    case "rolled-back":
      return `Rolled back: ${stack} runs ${from.version} (${from.image}) with the old data, and that is proved. Why: ${failure ?? "not known"}${notes}`;
    default:
      return `RollbackFailed: neither version is proved, and the node may stand still. It went back because: ${failure ?? "not known"}; and then:${notes}\nFix that, and say: ${formatContinueCommand(record)}`;
  }
}
