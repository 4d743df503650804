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
 * Takes the node of a stack to another image, or goes on with that, and says how it ended. Returns the exit status: 0 the new version is proved (dry run: it could
 * begin), 1 it is not.
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
