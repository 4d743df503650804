import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { checkWithinMs, ControlError, requestControl, type ControlTarget } from "./request-control.ts";
import { isAgreedTo, type Agreement } from "./agreement.ts";
import { upgradeResponse, type UpgradeResponse } from "./control-answers.ts";
import { followUpgrade, formatPlan } from "./follow-upgrade.ts";

/** Consent to a plan. */
export type PlanAgreement = Agreement &
  Readonly<{
    /** Whether to show the plan without executing it. */
    dryRun: boolean;
  }>;

/** Upgrade or restore to plan. */
type PlannedWork = Readonly<{
  /** Name of the command's route, and prefix of its messages. */
  command: "upgrade" | "restore";
  /** Request for the plan. With the plan's digest added, the request starts the work. */
  body: object;
  /** Confirmation question. */
  question: string;
}>;

/**
 * Shows a running sidecar's plan, executes it once the operator agrees, and follows the work until it ends. Returns the exit status: 0 if
 * the work succeeded (in a dry run: if it could start); 1 if the sidecar rejected it or rolled it back, or if the operator didn't agree.
 */
export async function confirmPlan(
  target: ControlTarget,
  work: PlannedWork,
  agreement: PlanAgreement,
  output: CommandOutput,
): Promise<number> {
  const confirm = agreement.json === true ? confirmForProgram : confirmForPerson;
  try {
    return await confirm(target, work, agreement, output);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`${work.command}: ${error.message}\n`);
    return exitStatus.error;
  }
}

function requestPlan(target: ControlTarget, { command, body }: PlannedWork, digest?: string): Promise<UpgradeResponse> {
  return requestControl(target, {
    path: `/${command}`,
    body: { ...body, digest },
    answer: upgradeResponse,
    timeoutMs: checkWithinMs,
  });
}

async function confirmForPerson(
  target: ControlTarget,
  work: PlannedWork,
  agreement: PlanAgreement,
  output: CommandOutput,
): Promise<number> {
  const { command, question } = work;
  const shown = await requestPlan(target, work);
  output.out(formatPlan(shown));
  if (shown.result === "refused") {
    output.error(`${command}: it can't be done now, for the reasons above; nothing was changed.\n`);
    return exitStatus.error;
  }
  if (agreement.dryRun) return exitStatus.clean;
  const refused = `${command}: nothing was changed`;
  if (!(await isAgreedTo({ question, refused }, agreement, output))) return exitStatus.error;
  const begun = await requestPlan(target, work, shown.plan.digest);
  if (begun.beganMs !== undefined) {
    const { end } = await followUpgrade(target, begun.beganMs, output.out);
    return end === "committed" ? exitStatus.clean : exitStatus.error;
  }
  output.error(`${command}: it is another one now, or can't be done any more; nothing was changed. It is now:\n`);
  output.out(formatPlan(begun));
  return exitStatus.error;
}

/** Prints the sidecar's last response as JSON, with the outcome of the work but without its steps. */
async function confirmForProgram(
  target: ControlTarget,
  work: PlannedWork,
  { dryRun, yes }: PlanAgreement,
  output: CommandOutput,
): Promise<number> {
  const print = (document: object) => output.out(`${JSON.stringify(document)}\n`);
  const shown = await requestPlan(target, work);
  if (dryRun || !yes || shown.result === "refused") {
    print(shown);
    return dryRun && shown.result === "shown" ? exitStatus.clean : exitStatus.error;
  }
  const begun = await requestPlan(target, work, shown.plan.digest);
  if (begun.beganMs === undefined) {
    print(begun);
    return exitStatus.error;
  }
  try {
    const upgrade = await followUpgrade(target, begun.beganMs, output.error);
    print({ ...begun, upgrade });
    return upgrade.end === "committed" ? exitStatus.clean : exitStatus.error;
  } catch (error) {
    // The work continues even if this command fails, so the calling program must be told that the work has started.
    if (error instanceof ControlError) print(begun);
    throw error;
  }
}
