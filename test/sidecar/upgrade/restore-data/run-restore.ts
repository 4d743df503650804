import type { RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { runRestoreDataCommand, type RestoreDataOptions } from "#sidecar/upkeep/control/restore-data-command.ts";
import { findControl, keepPrinted } from "../../../support/node/settled-devnet.ts";

/** Runs `gatehouse restore-data` against an upkeep's own control. */
export async function restoreData(
  upkeep: RunningUpkeep,
  snapshot?: string,
  more: Partial<Pick<RestoreDataOptions, "dryRun" | "json">> = {},
) {
  const { output, printed } = keepPrinted();
  const options = { snapshot, dryRun: false, yes: true, confirm: undefined, ...more };
  const status = await runRestoreDataCommand(findControl(upkeep), options, output);
  return { status, ...printed() };
}
