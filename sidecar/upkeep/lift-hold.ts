import type { HeldState } from "./state/upkeep-state.ts";
import type { UpkeepParts } from "./upkeep-parts.ts";

/**
 * Lifts a hold when the desired state, or the node's version, is another than the one that led to it, and says whether one is in
 * force. A version that is not known now, say because the node is down, is no other one.
 */
export function liftHold({ hash, release }: HeldState, { state, board, events, command }: UpkeepParts): void {
  const hold = state.hold.get();
  const isUpgraded = release !== undefined && hold?.desired.release !== undefined && release !== hold.desired.release;
  if (hold !== undefined && (hold.desired.hash !== hash || isUpgraded)) {
    state.hold.set(undefined);
    const what = isUpgraded ? "the node has another version now" : "the desired state is another one now";
    events.add("hold", `The hold is lifted: ${what}.`);
  }
  const type = "Unheld";
  if (hold === undefined && board.get(type)?.status === "False") {
    events.add("hold", 'The hold is lifted: "gatehouse resume" was run.');
  }
  if (state.hold.get() === undefined) {
    board.set({ type, status: "True", reason: "NoHold", message: "No hold is in force." });
    return;
  }
  const message = `${hold?.message ?? ""} Change the desired state, or run \`${command("resume")}\` when the cause is mended.`;
  board.set({ type, status: "False", reason: "Held", message });
}
