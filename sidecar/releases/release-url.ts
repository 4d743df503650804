import { hash } from "node:crypto";
import { join } from "node:path";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { readRegularFile } from "#daemon/files/regular-file.ts";
import { getText } from "#daemon/http/get.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import type { Logger } from "#daemon/log/log.ts";
import { readReleaseList, type ReleaseList } from "./release-list.ts";

/** Limits for fetching a list. */
const timeoutMs = 10_000;
const bytesMax = 1_048_576;

/** A list at a URL, and the file that persists its last valid version across restarts. */
export type ReleaseUrl = Readonly<{ url: string; directory: string }>;

/** Reads the stored list; returns undefined if there is none. */
export async function readStoredList(place: ReleaseUrl): Promise<ReleaseList | undefined> {
  try {
    const { bytes } = await readRegularFile(locateKept(place), bytesMax);
    const reading = readReleaseList(parseJson(Buffer.from(bytes).toString("utf8")));
    return reading.ok ? reading.value : undefined;
  } catch {
    // If the stored list is missing or damaged, the next fetch replaces it.
    return undefined;
  }
}

/** Fetches and stores the list; logs the reason and returns undefined if it can't be fetched or used. */
export async function fetchReleaseList(
  place: ReleaseUrl,
  { log }: Readonly<{ log: Logger }>,
): Promise<ReleaseList | undefined> {
  const { url } = place;
  const got = await getText(url, { timeoutMs, answerBytesMax: bytesMax });
  const answered = got.ok && got.status !== 200 ? `it answers HTTP ${got.status}` : undefined;
  const reading = got.ok && answered === undefined ? readReleaseList(parseJson(got.body)) : undefined;
  if (got.ok && reading?.ok === true) {
    await replaceFile(locateKept(place), Buffer.from(got.body));
    return reading.value;
  }
  const why = got.ok ? (answered ?? (reading?.ok === false ? reading.problems.join(" ") : "")) : got.why;
  log.warn(
    { event: "releases-not-fetched", url },
    `what was read before stays in force; upgrade.releasesUrl: ${url}: ${why}`,
  );
  return undefined;
}

function locateKept({ url, directory }: ReleaseUrl): string {
  return join(directory, `releases-${hash("sha256", url).slice(0, 16)}.json`);
}
