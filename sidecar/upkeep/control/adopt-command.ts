import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { waitUntil } from "#daemon/time.ts";
import { requestControl, requestView, runControlCommand, type ControlTarget } from "./request-control.ts";
import { isConfirmed, type Confirmation } from "./control-options.ts";
import { adoptResponse, type AdoptResponse, type ControlView } from "./control-responses.ts";

/** Time within which a newly started sidecar checks its node for the first time. */
const planWithinMs = 30_000;
const planPollMs = 500;

/**
 * Shows the plan, and lets the sidecar act from now on. Returns 0 if it may act; 1 if the plan was not approved or has changed, or there
 * was no response.
 */
export function runAdoptCommand(
  target: ControlTarget,
  confirmation: Confirmation,
  output: CommandOutput,
): Promise<number> {
  return runControlCommand("adopt", output, async () => {
    const view = await waitUntil(() => requestView(target), isPlanned, { everyMs: planPollMs, withinMs: planWithinMs });
    if (confirmation.json === true) return await runForProgram(target, view, confirmation, output);
    output.out(`${view.node.words}\n`);
    if (view.authority === "acts") {
      output.out(`The sidecar already acts on this node (upkeep.mode is ${view.mode}).\n`);
      return exitStatus.clean;
    }
    if (view.authority === "observes") {
      output.error("adopt: upkeep.mode is observe, so this sidecar never acts; set it to adopt or enforce.\n");
      return exitStatus.error;
    }
    output.out(formatPlanSteps(view));
    if (view.plan === undefined) {
      output.error("adopt: the sidecar has not checked its node yet; retry in a few seconds.\n");
      return exitStatus.error;
    }
    const question = "Let the sidecar apply this plan and keep the node in this state? [y/N] ";
    if (!(await isConfirmed({ question, rejected: "adopt: nothing was changed" }, confirmation, output))) {
      return exitStatus.error;
    }
    return await requestAdoption(target, view.plan.digest, output);
  });
}

async function runForProgram(
  target: ControlTarget,
  view: ControlView,
  { yes }: Pick<Confirmation, "yes">,
  output: CommandOutput,
): Promise<number> {
  const response =
    yes && view.authority === "waits" && view.plan !== undefined
      ? await adopt(target, view.plan.digest)
      : { result: view.authority === "acts" ? "already" : view.authority, view };
  output.out(`${JSON.stringify(response)}\n`);
  return response.result === "adopted" || response.result === "already" ? exitStatus.clean : exitStatus.error;
}

function adopt(target: ControlTarget, digest: string): Promise<AdoptResponse> {
  return requestControl(target, { path: "/adopt", body: { digest }, schema: adoptResponse });
}

async function requestAdoption(target: ControlTarget, digest: string, output: CommandOutput): Promise<number> {
  const { result, view } = await adopt(target, digest);
  if (result === "another") {
    output.error("adopt: the plan has changed; nothing was adopted. The new plan:\n");
    output.out(formatPlanSteps(view));
    return exitStatus.error;
  }
  output.out(`The sidecar (process ${view.sidecar.pid} on host ${view.sidecar.host}) now acts on this node.\n`);
  return exitStatus.clean;
}

function isPlanned({ authority, plan }: ControlView): boolean {
  return authority !== "waits" || plan !== undefined;
}

function formatPlanSteps({ plan }: ControlView): string {
  if (plan === undefined) return "";
  const steps = plan.steps.map((step, index) => `  ${index + 1}. ${step}\n`).join("");
  const problems = plan.problems.map((problem) => `  not planned: ${problem}\n`).join("");
  const list = plan.steps.length === 0 ? "The sidecar would change nothing.\n" : `The sidecar would do this:\n${steps}`;
  return `${list}${problems}After that, it keeps the node in this state automatically.\n`;
}
