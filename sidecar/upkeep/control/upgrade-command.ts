import { exitStatus, type CommandOutput } from "#daemon/command-output.ts";
import { pause } from "#daemon/time.ts";
import { ControlError, requestControl, type ControlTarget } from "./ask-control.ts";
import {
  cancelAnswer,
  controlView,
  upgradeAnswer,
  type ControlView,
  type UpgradeAnswer,
  type UpgradeAsked,
} from "./control-answers.ts";

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

const lookAgainMs = 1_000;

/** How long the sidecar may be away in the middle: it goes on with the upgrade at its next start. */
const awayMs = 120_000;

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
    if (begun.beganMs !== undefined) return await follow(target, begun.beganMs, output);
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

/** Prints each step as it begins, until the end; a sidecar that is away for a while goes on when it is back. */
async function follow(target: ControlTarget, beganMs: number, output: CommandOutput): Promise<number> {
  output.out("It has begun. The sidecar carries it out: to end this command does not end the upgrade.\n");
  let stage: string | undefined;
  let seenMs = performance.now();
  for (;;) {
    const upgrade = await lookAtUpgrade(target, beganMs, performance.now() - seenMs < awayMs);
    if (upgrade !== undefined) {
      seenMs = performance.now();
      if (upgrade.stage !== stage || upgrade.end !== undefined) output.out(`${upgrade.words}\n`);
      ({ stage } = upgrade);
      if (upgrade.end !== undefined) return upgrade.end === "committed" ? exitStatus.clean : exitStatus.error;
    }
    await pause(lookAgainMs);
  }
}

async function lookAtUpgrade(
  target: ControlTarget,
  beganMs: number,
  mayBeAway: boolean,
): Promise<ControlView["upgrade"]> {
  try {
    const { upgrade } = await requestControl(target, { path: "", answer: controlView });
    if (upgrade?.beganMs === beganMs) return upgrade;
    throw new ControlError("the sidecar knows of no such upgrade any more; look at its page and log.");
  } catch (error) {
    if (error instanceof ControlError && mayBeAway) return undefined;
    throw error;
  }
}

function planText({ plan, node, starts }: UpgradeAnswer): string {
  const { from = "an unknown version", to = "an unknown version", steps, problems, warnings } = plan;
  const lines = [
    `${node.words}: from ${from} to ${to}.`,
    ...(starts === undefined ? [] : [`  It begins by itself ${starts}.`]),
    ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    ...warnings.map((warning) => `  warning: ${warning}`),
    ...problems.map((problem) => `  problem: ${problem}`),
  ];
  return `${lines.join("\n")}\n`;
}
