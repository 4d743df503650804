import { z } from "zod";
import type { FileReading } from "#daemon/files/watched-file.ts";
import { describeFileIssues } from "#daemon/settings/describe-issue.ts";
import { nodeVersionText } from "#node/versions.ts";

const release = z.strictObject({
  version: z.string().max(64).regex(nodeVersionText, "expected a version such as 0.16.2"),
  /** The first block that an older version can't make or check. */
  minVersionAt: z.int().min(0).optional(),
  /** For a person, e.g. the name of the fork. */
  note: z.string().max(500).optional(),
});

const releases = z.array(release).max(1_000);

/** Releases of the node as the operator lists them, with the heights from which they are needed. */
export type ReleaseList = Readonly<z.output<typeof releases>>;

/** Reads a release list. */
export function readReleaseList(content: unknown): FileReading<ReleaseList> {
  const parsed = releases.safeParse(content);
  return parsed.success
    ? { ok: true, value: parsed.data }
    : { ok: false, problems: describeFileIssues(parsed.error.issues) };
}
