import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import { requestControl, runControlCommand, type ControlTarget } from "./request-control.ts";
import { formatControlCommand } from "./control-options.ts";
import { resumeResponse } from "./control-responses.ts";

/** Lifts a pause and retries what failed. Returns 0 if the sidecar reports that the pause is lifted or that there was none. */
export function runResumeCommand(
  target: ControlTarget,
  output: CommandOutput,
  { json }: Readonly<{ json: boolean }> = { json: false },
): Promise<number> {
  return runControlCommand("resume", output, async () => {
    const answer = await requestControl(target, { path: "/resume", schema: resumeResponse });
    const { result, hold, next, wasContested, waits, node } = answer;
    if (json) {
      output.out(`${JSON.stringify(answer)}\n`);
      return result === "busy" ? exitStatus.error : exitStatus.clean;
    }
    const message = hold?.message ?? "";
    if (result === "busy") {
      output.error(`resume: ${node.words} is being rolled back; retry when that has finished. ${message}\n`);
      return exitStatus.error;
    }
    const since = hold === undefined ? "" : new Date(hold.sinceMs).toISOString();
    output.out(
      result === "none"
        ? `Gatehouse is not paused on ${node.words}.${waits === true ? explainApproval(target) : ""}\n`
        : `Gatehouse resumed on ${node.words}. It was paused since ${since}: ${message}\n${next ?? ""}\n`,
    );
    if (wasContested === true) {
      output.out(
        "Conflicts with another program over the configuration file were cleared: the next correction may restart the node again.\n",
      );
    }
    return exitStatus.clean;
  });
}

function explainApproval({ options = {} }: ControlTarget): string {
  return ` It is waiting for your approval: run ${formatControlCommand("adopt", options)}.`;
}
