import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import { ControlError, requestControl, type ControlTarget } from "./ask-control.ts";
import { upgradeAnswer, type RestoreAsked, type UpgradeAnswer } from "./control-answers.ts";
import { followUpgrade, planText } from "./follow-upgrade.ts";
import type { UpgradeOptions } from "./upgrade-command.ts";

/** From which snapshot the data are restored, and how a person agrees. */
export type RestoreDataOptions = Pick<UpgradeOptions, "dryRun" | "yes" | "confirm"> &
  Readonly<{
    /** Absolute path of a directory or a tar archive, as the sidecar sees it; undefined: the copy that the last upgrade kept. */
    snapshot: string | undefined;
  }>;

/** The sidecar measures the snapshot first. */
const checkWithinMs = 180_000;

/**
 * Shows what a restore of a node's data would do, has a running sidecar do it once a person agrees, and follows it to its end. Returns the exit status: 0
 * the node runs with the restored data (dry run: it could begin); 1 it was refused, taken back, or nobody agreed.
 */
export async function runRestoreDataCommand(
  target: ControlTarget,
  { snapshot, dryRun, yes, confirm }: RestoreDataOptions,
  output: CommandOutput,
): Promise<number> {
  const asked = snapshot === undefined ? {} : { snapshot };
  try {
    const shown = await ask(target, asked);
    output.out(planText(shown));
    if (shown.result === "refused") {
      output.error("restore: it can't be done now, for the reasons above; nothing was changed.\n");
      return exitStatus.error;
    }
    if (dryRun) return exitStatus.clean;
    const isAllowed = yes || (await confirm?.("Replace the node's data now? [y/N] ")) === true;
    if (!isAllowed) {
      const how = confirm === undefined ? " Without a terminal, say --yes." : "";
      output.error(`restore: nothing was changed.${how}\n`);
      return exitStatus.error;
    }
    const begun = await ask(target, { ...asked, digest: shown.plan.digest });
    if (begun.beganMs !== undefined) return await followUpgrade(target, begun.beganMs, output);
    output.error("restore: it is another one now, or can't be done any more; nothing was changed. It is now:\n");
    output.out(planText(begun));
    return exitStatus.error;
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`restore: ${error.message}\n`);
    return exitStatus.error;
  }
}

function ask(target: ControlTarget, body: RestoreAsked): Promise<UpgradeAnswer> {
  return requestControl(target, { path: "/restore", body, answer: upgradeAnswer, timeoutMs: checkWithinMs });
}
