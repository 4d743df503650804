import type { ConditionBoard } from "./condition-board.ts";
import type { ConditionReport, ConditionType, ReasonOf } from "./condition.ts";

/** Conditions whose word comes from looks that are made again and again. */
export type LookedAtType = {
  [Type in ConditionType]: "LookFailed" extends ReasonOf<Type, "Unknown"> ? Type : never;
}[ConditionType];

/** A look, as the start of a sentence ("The look at the disk"), and the conditions that it says: the first in any case, others where they were said before. */
export type WatchedLook = Readonly<{ what: string; types: readonly [LookedAtType, ...LookedAtType[]] }>;

/**
 * Says that nothing is known of a look's conditions, because it ended by an error that nobody foresaw: what it said last must not stand as if it were
 * so now.
 */
export function reportFailedLook(
  { what, types }: WatchedLook,
  error: unknown,
  board: Pick<ConditionBoard, "get" | "set">,
): void {
  const why = error instanceof Error ? error.message : String(error);
  const message =
    `${what} failed: ${why}. What it found before counts no more. It is made again by itself; if that stays, read the log of this process ` +
    "(event task-failed says where it failed), restart the process, and report it with that line.";
  for (const [index, type] of types.entries()) {
    if (index > 0 && board.get(type) === undefined) continue;
    const report: ConditionReport<LookedAtType> = { type, status: "Unknown", reason: "LookFailed", message };
    board.set(report);
  }
}
