import { z } from "zod";
import type { FileReading } from "#daemon/files/watched-file.ts";
import { describeFileIssues } from "#daemon/settings/describe-issue.ts";
import { nodeVersionText, type ReleaseCommits } from "#node/versions.ts";

const commit = z.string().regex(/^[0-9a-f]{7,40}$/, "expected the first 7 to 40 hexadecimal digits of a commit");

const release = z.strictObject({
  version: z.string().max(64).regex(nodeVersionText, "expected a version such as 0.16.2"),
  /** The first block that an older version can't build or validate. */
  minVersionAt: z.int().min(0).optional(),
  commit: commit.optional(),
  note: z.string().max(500).optional(),
});

/** A fork of the chain: the version of the rules that takes effect at an epoch, and the commit of the first programs that support it. */
const fork = z.strictObject({ version: z.int().min(0), epoch: z.int().min(0), commit: commit.optional() });

const listMax = 1_000;
const releases = z.array(release).max(listMax);
const forks = z
  .record(z.string().max(200), fork)
  .refine((rows) => Object.keys(rows).length > 0 && Object.keys(rows).length <= listMax, {
    error: "expected a list of releases, [{version, minVersionAt, commit}], or the forks of a VERSION file",
  });

/** A node release in the operator's list, with the height at which it becomes mandatory. */
export type Release = Readonly<z.output<typeof release>>;

/** A row in a fork schedule, in the format of `VERSION` files and of the lists that networks publish. */
export type Fork = Readonly<z.output<typeof fork>> & Readonly<{ name: string }>;

export type ReleaseList = Readonly<{ releases: readonly Release[]; forks: readonly Fork[] }>;

export const emptyList: ReleaseList = { releases: [], forks: [] };

export function readReleaseList(content: unknown): FileReading<ReleaseList> {
  const isSchedule = typeof content === "object" && content !== null && !Array.isArray(content);
  const parsed = isSchedule ? forks.safeParse(content) : releases.safeParse(content);
  if (!parsed.success) return { ok: false, problems: describeFileIssues(parsed.error.issues) };
  if (Array.isArray(parsed.data)) return { ok: true, value: { ...emptyList, releases: parsed.data } };
  const named: Fork[] = [];
  for (const [name, row] of Object.entries(parsed.data)) named.push({ ...row, name });
  return { ok: true, value: { ...emptyList, forks: named } };
}

export function listCommits({ releases: rows }: ReleaseList): ReleaseCommits {
  return Object.fromEntries(rows.flatMap(({ commit: digits, version }) => (digits ? [[digits, version]] : [])));
}
