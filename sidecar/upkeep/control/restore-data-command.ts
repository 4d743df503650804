import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import type { ControlTarget } from "./request-control.ts";
import { confirmPlan, type PlanAgreement } from "./confirm-plan.ts";
import type { RestoreBody } from "./control-answers.ts";

/** Snapshot to restore the data from, and the consent. */
export type RestoreDataOptions = PlanAgreement &
  Readonly<{
    /** Absolute path of a directory or a tar archive, as seen by the sidecar; undefined: the copy retained by the last upgrade. */
    snapshot: string | undefined;
  }>;

/** Has a running sidecar restore its node's data. Returns the exit status: 0 the node runs with the restored data. */
export function runRestoreDataCommand(
  target: ControlTarget,
  { snapshot, ...agreement }: RestoreDataOptions,
  output: CommandOutput,
): Promise<number> {
  const body: RestoreBody = snapshot === undefined ? {} : { snapshot };
  const question = "Replace the node's data now? [y/N] ";
  return confirmPlan(target, { command: "restore", body, question }, agreement, output);
}
