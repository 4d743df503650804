import type { UpkeepParts } from "./upkeep-parts.ts";

/** Lifts a hold when the desired state is another than the one that led to it, and says whether one is in force. */
export function liftHold(desiredHash: string, { state, board, events }: UpkeepParts): void {
  const hold = state.hold.get();
  if (hold !== undefined && hold.desiredHash !== desiredHash) {
    state.hold.set(undefined);
    events.add("hold", "The hold is lifted: the desired state is another one now.");
  }
  const type = "Unheld";
  if (hold === undefined && board.get(type)?.status === "False") {
    events.add("hold", 'The hold is lifted: "gatehouse resume" was run.');
  }
  if (state.hold.get() === undefined) {
    board.set({ type, status: "True", reason: "NoHold", message: "The sidecar acts by itself." });
    return;
  }
  const message = `${hold?.message ?? ""} Change the desired state, or run "gatehouse resume" when the cause is mended.`;
  board.set({ type, status: "False", reason: "Held", message });
}
