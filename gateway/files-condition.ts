import type { FileInForce } from "#daemon/files/files-in-force.ts";
import type { ConditionReport } from "#status/condition.ts";

/** Derives the condition for whether the content of the watched files is active; returns undefined if there are no such files. */
export function deriveFilesCondition(files: readonly FileInForce[]): ConditionReport<"FilesLoaded"> | undefined {
  if (files.length === 0) return undefined;
  const type = "FilesLoaded";
  const refused = files.flatMap(({ setting, path, readAt, problems }) =>
    problems === undefined
      ? []
      : [`${path} (${setting}) can't be used: ${problems.join(" ")} What was read there at ${readAt} is in force.`],
  );
  if (refused.length > 0) {
    return {
      type,
      status: "False",
      reason: "Rejected",
      message: `${refused.join(" ")} Fix the file: it is read again as you save it.`,
    };
  }
  const paths = files.map(({ path }) => path).join(", ");
  return { type, status: "True", reason: "Loaded", message: `What stands in ${paths} is in force.` };
}
