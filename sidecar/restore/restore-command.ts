import { dirname, resolve } from "node:path";
import { type AuditEntry, createAuditLog, type AuditLog } from "#daemon/audit/audit-log.ts";
import type { CommandOutput } from "#daemon/command-line/command-output.ts";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import { createFetch } from "./fetch.ts";
import { createLog } from "#daemon/log/log.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { pause } from "#daemon/time.ts";
import { findFamily } from "#node/families.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import {
  RestoreError,
  clearTree,
  countDownloadedBytes,
  deleteArchive,
  finishRestore,
  isEmpty,
  readMarker,
  locateRestore,
  requireReplaceable,
  moveTreeIntoPlace,
  type RestoreLocation,
} from "./restore-location.ts";
import { restoreSettings, type RestoreSettings } from "./settings.ts";
import { downloadArchive, stripQuery, type DownloadDependencies } from "./download-archive.ts";
import { syncTree } from "#daemon/files/sync-tree.ts";
import { unpackArchive } from "./unpack-archive.ts";

/** Sources for the settings. With `json`, prints one JSON document, and writes the log to standard error. */
export type RestoreOptions = Readonly<{
  env: Environment;
  settingsFile: string | undefined;
  json: boolean;
}>;

/** Returns 0 when the data directory contains data, and 1 when the restore failed, in which case another run resumes it. */
export async function runRestoreCommand(
  sources: RestoreOptions,
  { signal, out, error, mask }: Pick<CommandOutput, "out" | "error"> & Readonly<{ signal: AbortSignal; mask: Mask }>,
): Promise<number> {
  try {
    const settings = readSettings(restoreSettings, { env: sources.env, file: sources.settingsFile });
    mask.hide(settings);
    const destination = sources.json ? { write: (line: string) => error(line) } : undefined;
    const log = createLog({ service: "restore", level: settings.log.level, mask }, destination);
    const result = await restore(settings, { log, fetch: createFetch(), signal, audit: createAuditLog(log) });
    if (sources.json) out(`${JSON.stringify({ result, dataPath: settings.dataPath })}\n`);
    return 0;
  } catch (cause) {
    if (signal.aborted) error("restore: interrupted; rerun the command to continue.\n");
    else if (cause instanceof RestoreError) error(mask.text(`restore: ${cause.message}.\n`));
    else if (cause instanceof SettingsError) error(`${cause.message}\n`);
    else throw cause;
    return 1;
  }
}

type RestoreDependencies = DownloadDependencies & Readonly<{ audit: AuditLog }>;

/** Outcome: restored in this run, restored by an earlier run, or not needed because data exists. */
type RestoreOutcome = "restored" | "restored-before" | "not-empty";

/**
 * Restores chain data before a node's first start: download (resumable), hash, unpack next to the data directory, fsync everything, one
 * rename, marker. A kill at any point leaves either the old state or a state that the next run resumes. A data directory that is not empty
 * is never touched.
 *
 * @throws {RestoreError} with instructions when the restore is not possible.
 */
async function restore(settings: RestoreSettings, dependencies: RestoreDependencies): Promise<RestoreOutcome> {
  const { log, audit } = dependencies;
  const { family: name, dataPath } = settings;
  const family =
    name === undefined ? resolveNodeLayout({ workspace: dirname(resolve(dataPath)) }).family : findFamily(name);
  const paths = locateRestore(dataPath, family.snapshotDirectory);
  const sha256 = settings.archive.sha256?.toLowerCase();
  const marker = await readMarker(paths);
  if (marker !== undefined) {
    log.info(
      { event: "restore-leftover", marker },
      `${paths.dataPath} was already restored at ${marker.at}; nothing to do`,
    );
    return "restored-before";
  }
  if (paths.part === undefined && !(await isEmpty(paths.target))) return await keepData(paths, sha256, dependencies);
  await requireReplaceable(paths, family, settings.replace);
  log.info({ event: "restore-begun" }, `restoring ${paths.dataPath} from ${stripQuery(settings.archive.url)}`);
  const found = await downloadWithRetries(settings, paths, dependencies);
  if (sha256 === undefined) {
    log.warn(
      { event: "restore-unverified", sha256: found },
      `no checksum given (GATEHOUSE_RESTORE_ARCHIVE_SHA256), so the archive is not verified; its SHA-256 is ${found}`,
    );
  } else if (found !== sha256) {
    await deleteArchive(paths);
    throw new RestoreError(
      `${stripQuery(settings.archive.url)} has the SHA-256 ${found}, expected ${sha256}; nothing was unpacked. Correct the checksum or the URL`,
    );
  }
  await clearTree(paths);
  await rejectFullDisk(paths);
  await unpackArchive(settings, paths, dependencies);
  log.info({ event: "restore-progress" }, "unpacked; flushing to disk");
  await syncTree(paths.tree, dependencies.signal);
  await requireReplaceable(paths, family, settings.replace);
  const replacedPath = await moveTreeIntoPlace(paths);
  audit.add(auditRestore(paths, found, { isChecked: sha256 !== undefined }));
  await finishRestore(paths, found);
  const left =
    replacedPath === undefined ? "" : `; the previous data is in ${replacedPath}; remove it when you no longer need it`;
  log.info({ event: "restore-done" }, `restored ${paths.target}${left}`);
  return "restored";
}

function auditRestore(
  { target: dataPath, part }: RestoreLocation,
  archiveSha256: string | undefined,
  { isChecked }: Readonly<{ isChecked: boolean }>,
): AuditEntry {
  const message = `${dataPath} was restored from an archive${isChecked ? "" : " without a checksum"}.`;
  const state = part === undefined ? "empty" : "of genesis";
  const sides = { before: { dataPath, state }, after: { dataPath, archiveSha256 } };
  return { action: "node-data-restored", outcome: "success", by: "gatehouse restore", message, ...sides };
}

/**
 * Keeps existing data. If a run was killed after it renamed the data and before it wrote the marker, its archive still exists; data from
 * elsewhere has none.
 */
async function keepData(
  paths: RestoreLocation,
  sha256: string | undefined,
  { log, audit }: RestoreDependencies,
): Promise<RestoreOutcome> {
  if ((await countDownloadedBytes(paths)) > 0) {
    audit.add(auditRestore(paths, sha256, { isChecked: sha256 !== undefined }));
    await finishRestore(paths, sha256 ?? "unchecked");
    log.info({ event: "restore-done" }, `restored ${paths.dataPath}`);
    return "restored-before";
  }
  log.info({ event: "restore-leftover" }, `${paths.dataPath} is not empty; nothing was restored`);
  return "not-empty";
}

async function downloadWithRetries(
  settings: RestoreSettings,
  paths: RestoreLocation,
  dependencies: DownloadDependencies,
): Promise<string> {
  let fruitless = 0;
  for (;;) {
    const bytesBefore = await countDownloadedBytes(paths);
    try {
      return await downloadArchive(settings, paths, dependencies);
    } catch (error) {
      if (!(error instanceof RestoreError) || !error.retryable) throw error;
      fruitless = (await countDownloadedBytes(paths)) > bytesBefore ? 0 : fruitless + 1;
      if (fruitless >= settings.attempts) {
        throw new RestoreError(
          `${error.message}, ${fruitless} times in a row; check the server, then rerun the command`,
          {
            cause: error,
          },
        );
      }
      dependencies.log.warn(
        { event: "restore-interrupted", inVain: fruitless },
        `${error.message}; resuming in ${settings.retryMs} ms`,
      );
      await pause(settings.retryMs, dependencies.signal);
      dependencies.signal.throwIfAborted();
    }
  }
}

/** Rejects a disk whose free space is smaller than the archive, before hours of unpacking: the unpacked tree is at least as large as the archive. */
async function rejectFullDisk(paths: RestoreLocation): Promise<void> {
  const { freeBytes } = await readDiskSpace(dirname(paths.tree));
  const neededBytes = await countDownloadedBytes(paths);
  if (freeBytes >= neededBytes) return;
  throw new RestoreError(
    `${dirname(paths.dataPath)} has ${freeBytes} bytes free, but the archive alone has ${neededBytes}; expand the volume`,
  );
}
