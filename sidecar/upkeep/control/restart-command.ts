import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { requestControl, ControlError, type ControlTarget } from "./request-control.ts";
import { controlView, restartResponse, type ControlView, type RestartResponse } from "./control-answers.ts";
import { isAgreedTo, type Agreement } from "./agreement.ts";
import { repeatOptions } from "./control-options.ts";

/**
 * Makes a running sidecar restart its node in the same way as the sidecar's own restarts: verified, and rolled back if the node doesn't
 * recover. Returns the exit status: 0 if the sidecar accepted; 1 if it didn't, or if the operator didn't agree.
 */
export async function runRestartCommand(
  target: ControlTarget,
  agreement: Agreement,
  output: CommandOutput,
): Promise<number> {
  try {
    const view = await requestControl(target, { path: "", answer: controlView });
    if (agreement.json === true) {
      const answer = agreement.yes ? await requestRestart(target) : { result: "shown", node: view.node };
      output.out(`${JSON.stringify(answer)}\n`);
      return deriveExitStatus(answer.result);
    }
    output.out(`${view.node.words}\n`);
    const question = "It serves nobody while it restarts. Restart it now? [y/N] ";
    if (!(await isAgreedTo({ question, refused: "restart: nothing was done" }, agreement, output))) {
      return exitStatus.error;
    }
    const { result, waitsFor } = await requestRestart(target);
    if (result === "asked") {
      const next =
        waitsFor === undefined
          ? "The sidecar restarts the node now, and proves it."
          : `The restart is requested, but can't begin yet: ${waitsFor}. It is made once that is put right, within 10 minutes.`;
      output.out(`${next} ${explainFollowing(target)}\n`);
    } else {
      output.error(`restart: ${explainRefusal(result, view, target)}\n`);
    }
    return deriveExitStatus(result);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.error(`restart: ${error.message}\n`);
    return exitStatus.error;
  }
}

function requestRestart(target: ControlTarget): Promise<RestartResponse> {
  return requestControl(target, { path: "/restart", answer: restartResponse });
}

function deriveExitStatus(result: string): number {
  return result === "asked" ? exitStatus.clean : exitStatus.error;
}

/** Explains how to follow the restart. Reading the status requires the sidecar's URL, which a state directory doesn't contain. */
function explainFollowing({ typed: { url } = {} }: ControlTarget): string {
  return url === undefined
    ? "gatehouse status shows how it goes; name its listener by --url where that is not the default one."
    : `gatehouse status${repeatOptions({ url })} shows how it goes.`;
}

/** Explains why the sidecar rejected the request, and the remedy. */
function explainRefusal(
  result: Exclude<RestartResponse["result"], "asked">,
  { hold }: ControlView,
  { typed = {} }: ControlTarget,
): string {
  switch (result) {
    case "busy":
      return "a restart or an upgrade is under way already; look again when it has ended.";
    case "paused":
      return `a hold is in force; fix its cause, then run gatehouse resume${repeatOptions(typed)}. ${hold?.message ?? ""}`.trimEnd();
    case "waits":
      return `the sidecar may not act on this node yet; let it by gatehouse adopt${repeatOptions(typed)}.`;
    case "observes":
      return "upkeep.mode is observe, so this sidecar never acts; set it to adopt or enforce, or restart the node yourself.";
    case "no-driver":
      return "restart.driver is none, so this sidecar can't restart the node; set it, or restart the node yourself.";
  }
}
