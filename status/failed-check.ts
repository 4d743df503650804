import type { ConditionBoard } from "./condition-board.ts";
import type { ConditionReport, ConditionType, ReasonOf } from "./condition.ts";

/** Conditions set by periodic checks. */
export type CheckedType = {
  [Type in ConditionType]: "CheckFailed" extends ReasonOf<Type, "Unknown"> ? Type : never;
}[ConditionType];

/** A check, as the start of a sentence ("The check of the disk"), and the conditions that it sets: the first in any case, the rest if they were set before. */
export type WatchedCheck = Readonly<{ what: string; types: readonly [CheckedType, ...CheckedType[]] }>;

/** Sets a check's conditions to Unknown because the check failed with an unexpected error: its last finding must not appear current. */
export function reportFailedCheck(
  { what, types }: WatchedCheck,
  error: unknown,
  board: Pick<ConditionBoard, "get" | "set">,
): void {
  const message = describeFailedCheck(what, error);
  for (const [index, type] of types.entries()) {
    if (index > 0 && board.get(type) === undefined) continue;
    const report: ConditionReport<CheckedType> = { type, status: "Unknown", reason: "CheckFailed", message };
    board.set(report);
  }
}

/** Describes a check that failed with an unexpected error; `what` is the start of the sentence, as in {@link WatchedCheck}. */
export function describeFailedCheck(what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `${what} failed: ${why}. Its previous result no longer counts. It is retried automatically; if it keeps failing, find the cause in this process's log (event task-failed), restart the process, and report a bug with that line.`;
}
