import { existsSync } from "node:fs";
import { join } from "node:path";
import { exitStatus, type CommandOutput } from "./command-output.ts";
import { openUpkeepState, upkeepStateFile } from "./state/upkeep-state.ts";

/**
 * Lifts the hold that a sidecar set when the node did not come back; the sidecar notices within `upkeep.rereadIntervalMs`. Returns
 * the exit status: 0 lifted, or none was in force; 1 when there is no sidecar's state in the directory.
 */
export function resumeCommand({ stateDirectory }: Readonly<{ stateDirectory: string }>, output: CommandOutput): number {
  if (!existsSync(join(stateDirectory, upkeepStateFile))) {
    output.error(
      `resume: there is no sidecar's state in ${stateDirectory}; run it with the sidecar's GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY.\n`,
    );
    return exitStatus.error;
  }
  using state = openUpkeepState(stateDirectory);
  const hold = state.hold.get();
  state.hold.set(undefined);
  const since = hold === undefined ? "" : new Date(hold.sinceMs).toISOString();
  output.out(
    hold === undefined ? "No hold is in force.\n" : `The hold since ${since} is lifted. It was: ${hold.message}\n`,
  );
  return exitStatus.clean;
}
