import type { PieceCall } from "./piece-entry.ts";

/** Joins calls into a batch. Calls that are adjacent in the same text, separated by a comma, are sliced from it together. */
export function joinBodies(calls: readonly Pick<PieceCall, "text" | "startsAt" | "endsAt">[]): string {
  let batch = "[";
  let from = 0;
  let to = -1;
  let text = "";
  for (const call of calls) {
    if (call.startsAt !== to + 1 || call.text !== text || to === -1) {
      if (to !== -1) batch += `${text.slice(from, to)},`;
      text = call.text;
      from = call.startsAt;
    }
    to = call.endsAt;
  }
  return `${batch}${text.slice(from, to)}]`;
}
