import { basename, join } from "node:path";
import type { Clock } from "#daemon/clock.ts";
import type { FilesLoaded } from "#daemon/files/files-in-force.ts";
import { readRegularFile } from "#daemon/files/regular-file.ts";
import { watchFile } from "#daemon/files/watched-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { NodeLayout } from "#node/layout.ts";
import type { ReleaseCommits } from "#node/versions.ts";
import type { SidecarSettings } from "../settings.ts";
import { emptyList, listCommits, readReleaseList, type Fork, type Release, type ReleaseList } from "./release-list.ts";
import { fetchReleaseList, readStoredList } from "./release-url.ts";

/** A node's family, and the directory that contains its programs. */
export type ProgramsLocation = Pick<NodeLayout, "family" | "binDirectory">;

export type ReleaseListsDependencies = Readonly<{
  /** Directory in which a fetched list is stored. */
  stateDirectory: string;
  files: FilesLoaded;
  clock: Pick<Clock, "monotonicMs">;
  log: Logger;
}>;

/** Current content of the lists. `own` is the schedule next to the programs; `isNamed` is whether the settings configure another list. */
export type ListedReleases = Readonly<{
  releases: readonly Release[];
  published: readonly Fork[];
  own: readonly Fork[] | undefined;
  isNamed: boolean;
}>;

/** Release and fork lists for a node. */
export type ReleaseLists = AsyncDisposable &
  Readonly<{ read: (place: ProgramsLocation) => Promise<ListedReleases>; commits: () => ReleaseCommits }>;

/** Interval for rereading sources that are not watched: the schedule next to the programs, and a list at a URL. */
const ownAgainMs = 60_000;
const urlAgainMs = 3_600_000;
const urlRetryMs = 300_000;
const ownBytesMax = 1_048_576;

/**
 * Opens the lists configured in the settings.
 *
 * @throws {StartupError} when the file is unusable at startup.
 */
export function openReleaseLists(
  { releasesPath: path, releasesUrl: url }: Pick<SidecarSettings["upgrade"], "releasesPath" | "releasesUrl">,
  { stateDirectory, files, clock, log }: ReleaseListsDependencies,
): ReleaseLists {
  let ofFile = emptyList;
  let ofUrl = emptyList;
  let own: readonly Fork[] | undefined;
  const due = { own: -Infinity, url: -Infinity };
  const apply = (read: ReleaseList) => void (ofFile = read);
  const watched = path && { path, setting: "upgrade.releasesPath", read: readReleaseList, apply };
  const file = watched ? watchFile(watched, { log, files }) : undefined;
  const fetchAgain = async (place: Parameters<typeof readStoredList>[0]) => {
    const fetched = await fetchReleaseList(place, { log });
    const kept = fetched === undefined && due.url === -Infinity ? await readStoredList(place) : undefined;
    ofUrl = fetched ?? kept ?? ofUrl;
    due.url = clock.monotonicMs() + (fetched === undefined ? urlRetryMs : urlAgainMs);
  };
  return {
    read: async (place) => {
      if (clock.monotonicMs() >= due.own) {
        own = await readOwnForks(place);
        due.own = clock.monotonicMs() + ownAgainMs;
      }
      if (url !== undefined && clock.monotonicMs() >= due.url) await fetchAgain({ url, directory: stateDirectory });
      return {
        releases: [...ofFile.releases, ...ofUrl.releases],
        published: [...ofFile.forks, ...ofUrl.forks],
        own,
        isNamed: (path ?? url) !== undefined,
      };
    },
    commits: () => ({ ...listCommits(ofFile), ...listCommits(ofUrl) }),
    [Symbol.asyncDispose]: async () => file?.[Symbol.asyncDispose](),
  };
}

/** Reads the schedule next to the programs; returns undefined if the family has none, or it is missing or damaged. */
async function readOwnForks({
  family: { forksPath },
  binDirectory,
}: ProgramsLocation): Promise<readonly Fork[] | undefined> {
  if (forksPath === undefined) return undefined;
  const found = await readRegularFile(join(binDirectory, basename(forksPath)), ownBytesMax).catch(() => undefined);
  const reading = found && readReleaseList(parseJson(Buffer.from(found.bytes).toString("utf8")));
  return reading?.ok === true && reading.value.forks.length > 0 ? reading.value.forks : undefined;
}
