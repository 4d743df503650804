import type { FileInForce } from "#daemon/files/files-in-force.ts";
import type { ConditionReport } from "#status/condition.ts";

/** Derives the condition for whether the content of the watched files is active; returns undefined if there are no such files. */
export function deriveFilesCondition(files: readonly FileInForce[]): ConditionReport<"FilesLoaded"> | undefined {
  if (files.length === 0) return undefined;
  const type = "FilesLoaded";
  const refused = files.flatMap(({ setting, path, readAt, problems }) =>
    problems === undefined
      ? []
      : [`${path} (${setting}) is invalid: ${problems.join(" ")} The content read at ${readAt} stays active.`],
  );
  if (refused.length > 0) {
    return {
      type,
      status: "False",
      reason: "Rejected",
      message: `${refused.join(" ")} Fix the file: it is reloaded when saved.`,
    };
  }
  const paths = files.map(({ path }) => path).join(", ");
  return { type, status: "True", reason: "Loaded", message: `The content of ${paths} is active.` };
}
