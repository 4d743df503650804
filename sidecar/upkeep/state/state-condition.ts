import { stat } from "node:fs/promises";
import { HangingFileSystem } from "#daemon/files/file-deadline.ts";
import type { StoreFailure } from "./state-store.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/**
 * Writes what the sidecar remembers and is not on the disk yet, and says whether all of it is. The file system is asked first without waiting
 * for it, because the database is written in the process's one thread.
 */
export async function setStateKeptCondition(
  { goodNotKept }: UpkeepMemory,
  { state, stateDeadline, board }: UpkeepParts,
): Promise<void> {
  const { store, directory } = state;
  store.suspend(await hangingState(directory, stateDeadline));
  store.flush();
  const type = "StateKept";
  const failure = store.failure();
  if (failure === undefined && goodNotKept !== undefined) {
    board.set({ type, status: "False", reason: "NotWritten", message: goodNotKept });
    return;
  }
  if (failure === undefined) {
    board.set({ type, status: "True", reason: "Kept", message: `The sidecar's state is in ${directory}.` });
    return;
  }
  const message =
    `${failure.message} Until then what the sidecar knows lasts as long as its process, and it neither changes node.conf nor restarts the ` +
    "node: it would forget that it did.";
  board.set({ type, status: "False", reason: failure.reason, message });
}

async function hangingState(
  directory: string,
  patience: UpkeepParts["stateDeadline"],
): Promise<StoreFailure | undefined> {
  try {
    await patience.call(`looking at the state directory ${directory}`, () => stat(directory).catch(() => undefined));
    return undefined;
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { reason: "Hanging", message: `The state can't be written: ${error.message}.` };
  }
}
