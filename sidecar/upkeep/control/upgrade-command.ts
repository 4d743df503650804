import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { ControlError, requestControl, type ControlTarget } from "./request-control.ts";
import { confirmPlan, type PlanAgreement } from "./confirm-plan.ts";
import { cancelAnswer, type UpgradeAnswer, type UpgradeBody } from "./control-answers.ts";

/** Upgrade that a person requests, and the consent. */
export type UpgradeOptions = PlanAgreement &
  Readonly<{
    /** Absolute path of the directory with the new programs, as the sidecar sees it. */
    source: string;
    version: string | undefined;
    /** Time of its start; undefined: at once, or in the window of the sidecar's settings. */
    at: UpgradeBody["at"];
  }>;

/** Has a running sidecar upgrade its node. Returns the exit status: 0 the new version is proved, or the upgrade begins later. */
export function runUpgradeCommand(
  target: ControlTarget,
  { source, version, at, ...agreement }: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  const body: UpgradeBody = {
    source,
    ...(version === undefined ? {} : { version }),
    ...(at === undefined ? {} : { at }),
  };
  return confirmPlan(target, { command: "upgrade", body, formatQuestion }, agreement, output);
}

function formatQuestion({ starts = "now" }: UpgradeAnswer): string {
  return `Upgrade the node ${starts}? [y/N] `;
}

/** Withdraws the upgrade that is scheduled. Returns the exit status: 0 none is scheduled any more; 1 no sidecar said so. */
export async function runCancelCommand(
  target: ControlTarget,
  output: CommandOutput,
  { json }: Readonly<{ json: boolean }> = { json: false },
): Promise<number> {
  try {
    const answer = await requestControl(target, { path: "/upgrade/cancel", body: {}, answer: cancelAnswer });
    const { words, node } = answer;
    const said =
      words === undefined
        ? `No upgrade is scheduled on ${node.words}.\n`
        : `Withdrawn on ${node.words}. It was: ${words}\n`;
    output.out(json ? `${JSON.stringify(answer)}\n` : said);
    return exitStatus.clean;
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}
