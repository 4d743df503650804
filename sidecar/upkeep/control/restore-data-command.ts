import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import type { ControlTarget } from "./request-control.ts";
import { confirmPlan, type PlanAgreement } from "./confirm-plan.ts";
import type { RestoreBody } from "./control-answers.ts";

/** Snapshot from which to restore the data, and the consent. */
export type RestoreDataOptions = PlanAgreement &
  Readonly<{
    /** Absolute path of a directory or a tar archive, as seen by the sidecar; if undefined, the copy that the last upgrade kept. */
    snapshot: string | undefined;
  }>;

/** Makes a running sidecar restore its node's data. Returns the exit status: 0 if the node runs with the restored data. */
export function runRestoreDataCommand(
  target: ControlTarget,
  { snapshot, ...agreement }: RestoreDataOptions,
  output: CommandOutput,
): Promise<number> {
  const body: RestoreBody = snapshot === undefined ? {} : { snapshot };
  const question = "Replace the node's data now? [y/N] ";
  return confirmPlan(target, { command: "restore", body, question }, agreement, output);
}
