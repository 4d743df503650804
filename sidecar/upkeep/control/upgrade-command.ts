import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import { ControlError, requestControl, type ControlTarget } from "./ask-control.ts";
import { cancelAnswer, upgradeAnswer, type UpgradeAnswer, type UpgradeAsked } from "./control-answers.ts";
import { followUpgrade, planText } from "./follow-upgrade.ts";

/** What is asked of the sidecar, and how a person agrees. */
export type UpgradeOptions = Readonly<{
  /** Absolute path of the directory with the new programs, as the sidecar sees it. */
  source: string;
  version: string | undefined;
  /** When it begins; undefined: at once, or in the window of the sidecar's settings. */
  at: UpgradeAsked["at"];
  /** Shows what would be done, and does nothing. */
  dryRun: boolean;
  /** Agrees without being asked. */
  yes: boolean;
  /** Asks a person at the terminal; undefined where there is none. */
  confirm: ((question: string) => Promise<boolean>) | undefined;
}>;

/** The sidecar lists and hashes the programs and measures the data first. */
const checkWithinMs = 180_000;

/**
 * Shows what an upgrade of a node would do, has a running sidecar do it once a person agrees, and follows it to its end. Returns the exit status: 0 the
 * new version is proved, or it begins by itself later (dry run: it could begin); 1 it was refused, taken back, or nobody agreed.
 */
export async function runUpgradeCommand(
  target: ControlTarget,
  options: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  const { source, version, at, dryRun, yes, confirm } = options;
  const asked = { source, ...(version === undefined ? {} : { version }), ...(at === undefined ? {} : { at }) };
  try {
    const shown = await ask(target, asked);
    output.out(planText(shown));
    if (shown.result === "refused") {
      output.error("upgrade: it can't be done now, for the reasons above; nothing was changed.\n");
      return exitStatus.error;
    }
    if (dryRun) return exitStatus.clean;
    const isAllowed = yes || (await confirm?.(`Upgrade the node ${shown.starts ?? "now"}? [y/N] `)) === true;
    if (!isAllowed) {
      const how = confirm === undefined ? " Without a terminal, say --yes." : "";
      output.error(`upgrade: nothing was changed.${how}\n`);
      return exitStatus.error;
    }
    const begun = await ask(target, { ...asked, digest: shown.plan.digest });
    if (begun.beganMs !== undefined) return await followUpgrade(target, begun.beganMs, output);
    if (begun.result === "scheduled") {
      output.out(`It is accepted, and begins by itself ${begun.starts}. Withdraw it: gatehouse upgrade --cancel.\n`);
      return exitStatus.clean;
    }
    output.error("upgrade: it is another one now, or can't be done any more; nothing was changed. It is now:\n");
    output.out(planText(begun));
    return exitStatus.error;
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}

/** Withdraws the upgrade that is scheduled. Returns the exit status: 0 none is scheduled any more; 1 no sidecar said so. */
export async function runCancelCommand(target: ControlTarget, output: CommandOutput): Promise<number> {
  try {
    const { words, node } = await requestControl(target, { path: "/upgrade/cancel", body: {}, answer: cancelAnswer });
    output.out(
      words === undefined
        ? `No upgrade is scheduled on ${node.words}.\n`
        : `Withdrawn on ${node.words}. It was: ${words}\n`,
    );
    return exitStatus.clean;
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}

function ask(target: ControlTarget, body: unknown): Promise<UpgradeAnswer> {
  return requestControl(target, { path: "/upgrade", body, answer: upgradeAnswer, timeoutMs: checkWithinMs });
}
