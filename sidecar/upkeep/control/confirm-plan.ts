import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { checkWithinMs, ControlError, requestControl, type ControlTarget } from "./request-control.ts";
import { isAgreedTo, type Agreement } from "./agreement.ts";
import { upgradeAnswer, type UpgradeAnswer } from "./control-answers.ts";
import { followUpgrade, formatPlan } from "./follow-upgrade.ts";

/** Consent to a plan. */
export type PlanAgreement = Agreement &
  Readonly<{
    /** Shows the plan, and does nothing. */
    dryRun: boolean;
  }>;

/** Upgrade or restore that a plan is for. */
type PlannedWork = Readonly<{
  /** Name of its route, and start of its messages. */
  command: "upgrade" | "restore";
  /** The request for the plan; with the plan's digest it begins the work. */
  body: object;
  /** The question that a person answers with yes. */
  question: string;
}>;

/**
 * Shows a plan of a running sidecar, has it carried out once a person agrees, and follows the work to its end. Returns the exit status: 0 the work succeeded
 * (dry run: it could begin); 1 the sidecar refused it or rolled it back, or nobody agreed.
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

function requestPlan(target: ControlTarget, { command, body }: PlannedWork, digest?: string): Promise<UpgradeAnswer> {
  return requestControl(target, {
    path: `/${command}`,
    body: { ...body, digest },
    answer: upgradeAnswer,
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

/** Prints the sidecar's last answer, with the end of the work; the steps on the way are for a person. */
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
    // It goes on without this command: a program learns that it began.
    if (error instanceof ControlError) print(begun);
    throw error;
  }
}
