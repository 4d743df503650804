import { stageDescriptions } from "#sidecar/upgrade/progress.ts";
import type { StackCheck } from "./check-stack.ts";
import type { DeployedStack } from "./deployed-stack.ts";
import { formatContinueCommand } from "./stack-commands.ts";
import type { StackPlatform } from "./stack-platform.ts";
import type { StackRecord, UpgradeSide } from "./stack-record.ts";

/** Formats an upgrade plan for the operator to confirm; printed after the stack name. Pure. */
export function formatStackPlan(
  { from, stack }: DeployedStack,
  to: UpgradeSide,
  { plan }: Pick<StackPlatform, "plan">,
  { problems, warnings, copyWords }: Pick<StackCheck, "problems" | "warnings" | "copyWords">,
  { proveMs }: StackRecord["limits"],
): string {
  const isVersionSet = to.nodeVersion !== undefined && to.nodeVersion !== from.nodeVersion;
  const version = isVersionSet ? ` and nodeVersion ${to.nodeVersion}` : "";
  const steps = [
    plan.stop,
    plan.copy(copyWords),
    `Set nodeImage ${to.image}${version} in the configuration of ${stack}.`,
    plan.update,
    `Verify the node for at most ${proveMs} ms: it reports ${to.version}, exceeds its old height with the same blocks, has its node.conf as desired, and prunes and pushes metrics if it did before.`,
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

export function describeRecord({ stack, from, to, stage, end, beganMs }: StackRecord): string {
  const where = end === "stranded" ? "stranded: its rollback failed" : `was ${stageDescriptions[stage]}`;
  return `the upgrade of ${stack} from ${from.version} to ${to.image}, begun ${new Date(beganMs).toISOString()}, ${where}`;
}

export function formatEnd(record: StackRecord, { imageProof }: Pick<StackPlatform, "imageProof">): string {
  const { stack, from, to, end, failure = "unknown", note, before } = record;
  const notes = note === undefined ? "" : `\n${note}`;
  const proof = before.tellsVersion ? "as it reports itself" : `${imageProof}: ${from.version} reported no version`;
  switch (end) {
    case "committed":
      return `Verified: ${stack} runs ${to.version} (${to.image}), ${proof}. Commit its changed configuration.${notes}`;
    case "rolled-back":
      return `Rolled back: ${stack} runs ${from.version} (${from.image}) with the old data, which is verified. Reason: ${failure}${notes}`;
    default:
      return `RollbackFailed: neither version is verified, and the node may be down. Reason for the rollback: ${failure}; then:${notes}\nFix that, then run: ${formatContinueCommand(record)}`;
  }
}
