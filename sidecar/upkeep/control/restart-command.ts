import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { requestControl, requestView, runControlCommand, type ControlTarget } from "./request-control.ts";
import { restartResponse, type ControlView, type RestartResponse } from "./control-responses.ts";
import { isConfirmed, type Confirmation, formatControlCommand } from "./control-options.ts";

/** Makes a sidecar restart its node, with verification and rollback as in its own restarts. Returns 0 if the sidecar accepted. */
export function runRestartCommand(
  target: ControlTarget,
  confirmation: Confirmation,
  output: CommandOutput,
): Promise<number> {
  return runControlCommand("restart", output, async () => {
    const view = await requestView(target);
    if (confirmation.json === true) {
      const response = confirmation.yes ? await requestRestart(target) : { result: "shown", node: view.node };
      output.out(`${JSON.stringify(response)}\n`);
      return deriveExitStatus(response.result);
    }
    output.out(`${view.node.words}\n`);
    const question = "The node is unavailable while it restarts. Restart it now? [y/N] ";
    if (!(await isConfirmed({ question, rejected: "restart: nothing was changed" }, confirmation, output))) {
      return exitStatus.error;
    }
    const { result, waitsFor } = await requestRestart(target);
    if (result === "requested") {
      const next =
        waitsFor === undefined
          ? "The sidecar is restarting and verifying the node."
          : `The restart is requested but can't start yet: ${waitsFor}. It starts once that is resolved, if within 10 minutes.`;
      output.out(`${next} ${explainFollowing(target)}\n`);
    } else {
      output.error(`restart: ${explainRejection(result, view, target)}\n`);
    }
    return deriveExitStatus(result);
  });
}

function requestRestart(target: ControlTarget): Promise<RestartResponse> {
  return requestControl(target, { path: "/restart", schema: restartResponse });
}

function deriveExitStatus(result: string): number {
  return result === "requested" ? exitStatus.clean : exitStatus.error;
}

/** Explains how to follow the restart. Reading the status requires the sidecar's URL, which a state directory doesn't contain. */
function explainFollowing({ options: { url } = {} }: ControlTarget): string {
  const command = formatControlCommand("status", { url });
  return `Follow it with ${command}${url === undefined ? " (--url if the sidecar's listener is not the default)" : ""}.`;
}

function explainRejection(
  result: Exclude<RestartResponse["result"], "requested">,
  { hold }: ControlView,
  { options = {} }: ControlTarget,
): string {
  switch (result) {
    case "busy":
      return "a restart or upgrade is already in progress; retry when it has finished.";
    case "paused":
      return `Gatehouse is paused; fix the cause, then run ${formatControlCommand("resume", options)}. ${hold?.message ?? ""}`.trimEnd();
    case "waits":
      return `the sidecar may not act on this node yet; approve it with ${formatControlCommand("adopt", options)}.`;
    case "observes":
      return "upkeep.mode is observe, so this sidecar never acts; set it to adopt or enforce, or restart the node manually.";
    case "no-driver":
      return "restart.driver is none, so this sidecar can't restart the node; set it, or restart the node manually.";
  }
}
