import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Logger } from "#daemon/log.ts";
import { pause } from "#daemon/time.ts";
import { downloadArchive, downloadedBytes, dropArchive, shown, type DownloadDependencies } from "./download-archive.ts";
import { RestoreError } from "./restore-error.ts";
import { clearTree, finish, isEmpty, readMarker, restorePlace, takeTree, type RestorePlace } from "./restore-place.ts";
import type { RestoreSettings } from "./settings.ts";
import { syncTree } from "./sync-tree.ts";
import { unpackArchive } from "./unpack-archive.ts";

/** What came of it: done now, done by an earlier run, or nothing to do because there are data. */
type RestoreOutcome = "restored" | "restored-before" | "not-empty";

/**
 * Restores chain data before a node's first start: download (resumed where it ended), hash, unpack beside the data directory, fsync
 * of all of it, one rename, marker. A kill at any instant leaves the old state or one that the next run goes on from; a data directory that holds
 * anything is never touched.
 *
 * @throws {RestoreError} when it can't be done, with what to do.
 */
export async function restore(settings: RestoreSettings, dependencies: DownloadDependencies): Promise<RestoreOutcome> {
  const { log } = dependencies;
  const place = restorePlace(settings.dataPath);
  const sha256 = settings.archive.sha256.toLowerCase();
  const marker = await readMarker(place);
  if (marker !== undefined) {
    log.info({ marker }, `${place.dataPath} was restored at ${marker.at}; left as it is`);
    return "restored-before";
  }
  if (!(await isEmpty(place.dataPath))) return await leaveData(place, sha256, log);
  log.info(`restoring ${place.dataPath} from ${shown(settings.archive.url)}`);
  const found = await downloadWithRetries(settings, place, dependencies);
  if (found !== sha256) {
    await dropArchive(place);
    throw new RestoreError(
      `${shown(settings.archive.url)} has the SHA-256 ${found}, expected ${sha256}; nothing was unpacked. Correct the checksum or the URL`,
    );
  }
  await clearTree(place);
  await refuseFullDisk(place);
  await unpackArchive(settings, place, dependencies);
  log.info("unpacked; waiting until all of it is on the disk");
  await syncTree(place.tree, dependencies.signal);
  await takeTree(place);
  await finish(place, sha256);
  log.info(`restored ${place.dataPath}`);
  return "restored";
}

/** A run that was killed between the rename and the marker has left its archive; data that are not ours have none. */
async function leaveData(place: RestorePlace, sha256: string, log: Logger): Promise<RestoreOutcome> {
  if ((await downloadedBytes(place)) > 0) {
    await finish(place, sha256);
    log.info(`restored ${place.dataPath}`);
    return "restored-before";
  }
  log.info(`${place.dataPath} is not empty; left as it is`);
  return "not-empty";
}

async function downloadWithRetries(
  settings: RestoreSettings,
  place: RestorePlace,
  dependencies: DownloadDependencies,
): Promise<string> {
  let inVain = 0;
  for (;;) {
    const before = await downloadedBytes(place);
    try {
      return await downloadArchive(settings, place, dependencies);
    } catch (error) {
      if (!(error instanceof RestoreError) || !error.retryable) throw error;
      inVain = (await downloadedBytes(place)) > before ? 0 : inVain + 1;
      if (inVain >= settings.attempts) {
        throw new RestoreError(`${error.message}, ${inVain} times in a row; look at the server, then run it again`, {
          cause: error,
        });
      }
      dependencies.log.warn({ inVain }, `${error.message}; going on where it ended in ${settings.retryMs} ms`);
      await pause(settings.retryMs, dependencies.signal);
      dependencies.signal.throwIfAborted();
    }
  }
}

/** The tree is at least as large as its archive: a disk that has no such room is told before hours of unpacking. */
async function refuseFullDisk(place: RestorePlace): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(place.tree));
  const neededBytes = await downloadedBytes(place);
  if (bavail * bsize >= neededBytes) return;
  throw new RestoreError(
    `${dirname(place.dataPath)} has ${bavail * bsize} bytes left and the archive alone has ${neededBytes}; make the volume larger`,
  );
}
