import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { ControlError, requestControl, type ControlTarget } from "./request-control.ts";
import { confirmPlan, type PlanAgreement } from "./confirm-plan.ts";
import { cancelResponse, type UpgradeBody } from "./control-answers.ts";

/** Upgrade to request, and the consent. */
export type UpgradeOptions = PlanAgreement &
  Readonly<{
    /** Absolute path of the directory that contains the new programs, as seen by the sidecar. */
    source: string;
    version: string | undefined;
  }>;

/** Makes a running sidecar upgrade its node. Returns the exit status: 0 if the new version is verified. */
export function runUpgradeCommand(
  target: ControlTarget,
  { source, version, ...agreement }: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  const body: UpgradeBody = { source, ...(version === undefined ? {} : { version }) };
  const question = "Upgrade the node now? [y/N] ";
  return confirmPlan(target, { command: "upgrade", body, question }, agreement, output);
}

/** Cancels an upgrade that has not stopped the node yet. Returns the exit status: 0 if no upgrade remains; 1 if no sidecar reported that. */
export async function runCancelCommand(
  target: ControlTarget,
  output: CommandOutput,
  { json }: Readonly<{ json: boolean }> = { json: false },
): Promise<number> {
  try {
    const answer = await requestControl(target, { path: "/upgrade/cancel", body: {}, answer: cancelResponse });
    const { words, node } = answer;
    const said =
      words === undefined
        ? `There is no upgrade to withdraw on ${node.words}.\n`
        : `Canceled on ${node.words}. It was: ${words}\n`;
    output.out(json ? `${JSON.stringify(answer)}\n` : said);
    return exitStatus.clean;
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}
