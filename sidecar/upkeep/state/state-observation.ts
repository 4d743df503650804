import { explainHanging, type FileDeadline } from "#daemon/files/file-deadline.ts";
import type { Observation } from "#health/observation.ts";
import type { StoreFailure } from "./state-store.ts";
import type { UpkeepState } from "./upkeep-state.ts";

export type StoreState = Readonly<{
  directory: string;
  isChecked: boolean;
  failure?: StoreFailure | undefined;
  copyNotKept?: string | undefined;
}>;

export type ObservedState = Observation<StoreState>;

/** Writes what isn't on disk yet. Tests the file system first, because database writes block the only thread. */
export async function checkState(
  copyNotKept: string | undefined,
  {
    stored,
    state,
    stateDeadline,
  }: Readonly<{ stored: ObservedState; state: UpkeepState; stateDeadline: FileDeadline }>,
): Promise<void> {
  const { store, directory } = state;
  const why = await explainHanging(directory, stateDeadline, `checking the state directory ${directory}`);
  store.suspend(
    why === undefined ? undefined : { reason: "Unresponsive", message: `The state can't be written: ${why}.` },
  );
  store.flush();
  stored.note({ isChecked: true, failure: store.failure(), copyNotKept });
}

/** Returns why the state is not entirely on disk; undefined if it is, or has not been checked yet. Pure. */
export function findStateFailure({ isChecked, failure, copyNotKept }: StoreState): StoreFailure | undefined {
  if (!isChecked) return undefined;
  if (failure !== undefined) {
    const untilText =
      "Until then, the sidecar's state is only in memory, and it neither changes node.conf nor restarts the node.";
    return { reason: failure.reason, message: `${failure.message} ${untilText}` };
  }
  return copyNotKept === undefined ? undefined : { reason: "WriteFailed", message: copyNotKept };
}
