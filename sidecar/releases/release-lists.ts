import { basename, join } from "node:path";
import { hash } from "node:crypto";
import type { Clock } from "#daemon/clock.ts";
import type { ActiveFiles } from "#daemon/files/active-files.ts";
import { readRegularFile } from "#daemon/files/regular-file.ts";
import { watchFile, type FileReading } from "#daemon/files/watched-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { NodeLayout } from "#node/layout.ts";
import { type ReleaseCommits, nodeVersionText } from "#node/versions.ts";
import type { SidecarSettings } from "../settings.ts";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { getText } from "#daemon/http/send-request.ts";
import { z } from "zod";
import { describeFileIssues } from "#daemon/settings/describe-issue.ts";

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

type ReleaseList = Readonly<{ releases: readonly Release[]; forks: readonly Fork[] }>;

const emptyList: ReleaseList = { releases: [], forks: [] };

export function readReleaseList(content: unknown): FileReading<ReleaseList> {
  const isSchedule = typeof content === "object" && content !== null && !Array.isArray(content);
  const parsed = isSchedule ? forks.safeParse(content) : releases.safeParse(content);
  if (!parsed.success) return { ok: false, problems: describeFileIssues(parsed.error.issues) };
  if (Array.isArray(parsed.data)) return { ok: true, value: { ...emptyList, releases: parsed.data } };
  const named: Fork[] = [];
  for (const [name, row] of Object.entries(parsed.data)) named.push({ ...row, name });
  return { ok: true, value: { ...emptyList, forks: named } };
}

function listCommits({ releases: rows }: ReleaseList): ReleaseCommits {
  return Object.fromEntries(rows.flatMap(({ commit: digits, version }) => (digits ? [[digits, version]] : [])));
}

export type ProgramsLocation = Pick<NodeLayout, "family" | "binDirectory">;

export type ReleaseListsDependencies = Readonly<{
  stateDirectory: string;
  files: ActiveFiles;
  clock: Pick<Clock, "monotonicMs">;
  log: Logger;
}>;

/** Current content of the lists. `own` is the schedule next to the programs; `isNamed`: whether the settings specify another list. */
type ListedReleases = Readonly<{
  releases: readonly Release[];
  published: readonly Fork[];
  own: readonly Fork[] | undefined;
  isNamed: boolean;
}>;

/** Interval for rereading sources that are not watched: the schedule next to the programs, and a list at a URL. */
const localListRefreshMs = 60_000;
const urlRefreshMs = 3_600_000;
const urlRetryMs = 300_000;

/** @throws {StartupError} when the file is unusable at startup. */
export async function openReleaseLists(
  { releasesPath: path, releasesUrl: url }: Pick<SidecarSettings["upgrade"], "releasesPath" | "releasesUrl">,
  { stateDirectory, files, clock, log }: ReleaseListsDependencies,
) {
  let ofFile = emptyList;
  let ofUrl = emptyList;
  let own: readonly Fork[] | undefined;
  const due = { own: -Infinity, url: -Infinity };
  const apply = (read: ReleaseList) => void (ofFile = read);
  const watchedFile = path && { path, setting: "upgrade.releasesPath", read: readReleaseList, apply };
  const file = watchedFile ? await watchFile(watchedFile, { log, files }) : undefined;
  const refetch = async (location: Parameters<typeof readStoredList>[0]) => {
    const fetchedList = await fetchReleaseList(location, { log });
    const kept = fetchedList === undefined && due.url === -Infinity ? await readStoredList(location) : undefined;
    ofUrl = fetchedList ?? kept ?? ofUrl;
    due.url = clock.monotonicMs() + (fetchedList === undefined ? urlRetryMs : urlRefreshMs);
  };
  return {
    read: async (location: ProgramsLocation): Promise<ListedReleases> => {
      if (clock.monotonicMs() >= due.own) {
        own = await readOwnForks(location);
        due.own = clock.monotonicMs() + localListRefreshMs;
      }
      if (url !== undefined && clock.monotonicMs() >= due.url) await refetch({ url, directory: stateDirectory });
      return {
        releases: [...ofFile.releases, ...ofUrl.releases],
        published: [...ofFile.forks, ...ofUrl.forks],
        own,
        isNamed: (path ?? url) !== undefined,
      };
    },
    commits: (): ReleaseCommits => ({ ...listCommits(ofFile), ...listCommits(ofUrl) }),
    [Symbol.asyncDispose]: async () => file?.[Symbol.asyncDispose](),
  };
}

/** Reads the schedule next to the programs; returns undefined if the family has none, or it is missing or damaged. */
async function readOwnForks({
  family: { forksPath },
  binDirectory,
}: ProgramsLocation): Promise<readonly Fork[] | undefined> {
  if (forksPath === undefined) return undefined;
  const list = await readListFile(join(binDirectory, basename(forksPath)));
  return list !== undefined && list.forks.length > 0 ? list.forks : undefined;
}

/** Reads a list from a file that isn't watched; returns undefined if it is missing or damaged. */
async function readListFile(path: string): Promise<ReleaseList | undefined> {
  const file = await readRegularFile(path, bytesMax).catch(() => undefined);
  const listResult = file && readReleaseList(parseJson(Buffer.from(file.bytes).toString("utf8")));
  return listResult?.ok === true ? listResult.value : undefined;
}

const timeoutMs = 10_000;
const bytesMax = 1_048_576;

/** A list at a URL, and the file that persists its last valid version across restarts. */
type ReleaseUrl = Readonly<{ url: string; directory: string }>;

/** Reads the stored list; returns undefined if there is none. If it is damaged, the next fetch replaces it. */
export function readStoredList(location: ReleaseUrl): Promise<ReleaseList | undefined> {
  return readListFile(locateStoredList(location));
}

/** Fetches and stores the list; logs the reason and returns undefined if it can't be fetched or used. */
export async function fetchReleaseList(
  location: ReleaseUrl,
  { log }: Readonly<{ log: Logger }>,
): Promise<ReleaseList | undefined> {
  const { url } = location;
  const got = await getText(url, { timeoutMs, responseBytesMax: bytesMax });
  const httpStatus = got.ok && got.status !== 200 ? `HTTP ${got.status}` : undefined;
  const listResult = got.ok && httpStatus === undefined ? readReleaseList(parseJson(got.body)) : undefined;
  if (got.ok && listResult?.ok === true) {
    await replaceFile(locateStoredList(location), Buffer.from(got.body));
    return listResult.value;
  }
  const why = got.ok ? (httpStatus ?? (listResult?.ok === false ? listResult.problems.join(" ") : "")) : got.why;
  log.warn(
    { event: "releases-not-fetched", url },
    `the previous list stays active; upgrade.releasesUrl: ${url}: ${why}`,
  );
  return undefined;
}

function locateStoredList({ url, directory }: ReleaseUrl): string {
  return join(directory, `releases-${hash("sha256", url).slice(0, 16)}.json`);
}
