import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { checkWithinMs, ControlError, requestControl, type ControlTarget } from "./request-control.ts";
import { isAgreedTo, type Agreement } from "./agreement.ts";
import { upgradeResponse, type UpgradeBody, type UpgradeResponse } from "./control-answers.ts";
import { followUpgrade, formatPlan } from "./follow-upgrade.ts";

/** Upgrade to request, and the consent. */
export type UpgradeOptions = Agreement &
  Readonly<{
    /** Absolute path of the directory that contains the new programs, as seen by the sidecar. */
    source: string;
    version: string | undefined;
    /** Whether to show the plan without executing it. */
    dryRun: boolean;
  }>;

/**
 * Shows a running sidecar's plan of an upgrade, starts it once the operator agrees, and follows it until it ends. Returns the exit status: 0
 * if the new version is verified (in a dry run: if the upgrade could start).
 */
export async function runUpgradeCommand(
  target: ControlTarget,
  options: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  const confirm = options.json === true ? confirmForProgram : confirmForPerson;
  try {
    return await confirm(target, options, output);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`upgrade: ${error.message}\n`);
    return exitStatus.error;
  }
}

/** Requests the plan; with the plan's digest, starts the upgrade. */
function requestPlan(
  target: ControlTarget,
  { source, version }: UpgradeOptions,
  digest?: string,
): Promise<UpgradeResponse> {
  const body: UpgradeBody = { source, version, digest };
  return requestControl(target, { path: "/upgrade", body, answer: upgradeResponse, timeoutMs: checkWithinMs });
}

const question = { question: "Upgrade the node now? [y/N] ", refused: "upgrade: nothing was changed" } as const;

async function confirmForPerson(
  target: ControlTarget,
  options: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  const shown = await requestPlan(target, options);
  output.out(formatPlan(shown));
  if (shown.result === "refused") {
    output.error(`upgrade: not possible now, for the reasons above; nothing was changed.\n`);
    return exitStatus.error;
  }
  if (options.dryRun) return exitStatus.clean;
  if (!(await isAgreedTo(question, options, output))) return exitStatus.error;
  const begun = await requestPlan(target, options, shown.plan.digest);
  if (begun.beganMs !== undefined) {
    const { end } = await followUpgrade(target, begun.beganMs, output.out);
    return end === "committed" ? exitStatus.clean : exitStatus.error;
  }
  output.error(`upgrade: the plan has changed or is no longer possible; nothing was changed. The new plan:\n`);
  output.out(formatPlan(begun));
  return exitStatus.error;
}

/** Prints the sidecar's last response as JSON, with the outcome of the upgrade but without its steps. */
async function confirmForProgram(
  target: ControlTarget,
  options: UpgradeOptions,
  output: CommandOutput,
): Promise<number> {
  const { dryRun, yes } = options;
  const print = (document: object) => output.out(`${JSON.stringify(document)}\n`);
  const shown = await requestPlan(target, options);
  if (dryRun || !yes || shown.result === "refused") {
    print(shown);
    return dryRun && shown.result === "shown" ? exitStatus.clean : exitStatus.error;
  }
  const begun = await requestPlan(target, options, shown.plan.digest);
  if (begun.beganMs === undefined) {
    print(begun);
    return exitStatus.error;
  }
  try {
    const upgrade = await followUpgrade(target, begun.beganMs, output.error);
    print({ ...begun, upgrade });
    return upgrade.end === "committed" ? exitStatus.clean : exitStatus.error;
  } catch (error) {
    // The upgrade continues even if this command fails, so the calling program must be told that it has started.
    if (error instanceof ControlError) print(begun);
    throw error;
  }
}
