import { exitStatus } from "#daemon/command-line/command-output.ts";
import {
  buildWork,
  isExpected,
  runStack,
  type StackUpgradeDependencies,
  type StackUpgradeOptions,
} from "./run-stack.ts";
import { formatContinueCommand } from "./stack-commands.ts";
import { formatEnd } from "./stack-plan.ts";

/**
 * Upgrades the node of a stack to another image, or resumes that, and reports the end. Returns the exit status: 0 if the new version is
 * proved (dry run: if it could begin), else 1.
 */
export async function runStackUpgradeCommand(
  options: StackUpgradeOptions,
  dependencies: StackUpgradeDependencies,
): Promise<number> {
  const { output } = dependencies;
  try {
    const run = await runStack(options, buildWork(dependencies));
    if (typeof run === "number") return run;
    const { record, waits } = run;
    if (waits !== undefined) {
      output.error(
        `upgrade: not ended: ${waits}\nThe node may stand still meanwhile. Go on: ${formatContinueCommand(record)}\n`,
      );
      return exitStatus.error;
    }
    const isProved = record.end === "committed";
    (isProved ? output.out : output.error)(`${formatEnd(record)}\n`);
    return isProved ? exitStatus.clean : exitStatus.error;
  } catch (error) {
    if (!isExpected(error)) throw error;
    output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}
