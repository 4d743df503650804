import { poll, type PollDependencies, type PollOptions, type Repetition } from "#daemon/time.ts";
import type { ConditionBoard } from "./condition-board.ts";
import type { ConditionReport, ConditionType, ReasonOf } from "./condition.ts";

/** Conditions set by periodic checks. */
export type CheckedType = {
  [Type in ConditionType]: "CheckFailed" extends ReasonOf<Type, "Unknown"> ? Type : never;
}[ConditionType];

type CheckOptions = Omit<PollOptions, "failed"> &
  Readonly<{
    /** The check, as the start of a sentence ("The check of the disk"). */
    what: string;
    /** The conditions that it sets: the first in any case, the rest if they were set before. */
    types: readonly [CheckedType, ...CheckedType[]];
    /** Called after an unexpected error. */
    failed?: () => void;
  }>;

/** Repeats a check like {@link poll}. Sets its conditions to Unknown after an unexpected error: its last finding must not appear current. */
export function pollCheck(
  { what, types, failed, ...options }: CheckOptions,
  check: (signal: AbortSignal) => Promise<void>,
  { board, ...dependencies }: Readonly<{ board: Pick<ConditionBoard, "get" | "set"> }> & PollDependencies,
): Repetition {
  const report = (error: unknown) => {
    failed?.();
    const message = describeFailedCheck(what, error);
    for (const [index, type] of types.entries()) {
      if (index > 0 && board.get(type) === undefined) continue;
      const unknown: ConditionReport<CheckedType> = { type, status: "Unknown", reason: "CheckFailed", message };
      board.set(unknown);
    }
  };
  return poll({ ...options, failed: report }, check, dependencies);
}

/** Describes a check that failed with an unexpected error; `what` is the start of the sentence. */
export function describeFailedCheck(what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `${what} failed: ${why}. Its previous result no longer counts. It is retried automatically; if it keeps failing, find the cause in this process's log (event task-failed), restart the process, and report a bug with that line.`;
}
