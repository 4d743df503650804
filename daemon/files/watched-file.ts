import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { hash } from "node:crypto";
import type { Logger } from "../log/log.ts";
import type { ActiveFiles } from "./active-files.ts";
import { readJson5File } from "./json5-file.ts";
import { StartupError } from "../process/startup-error.ts";
import { pauseInBackground, poll } from "../time.ts";
import { explainUnreadable } from "./regular-file.ts";

/** The value read from a file, or all problems that make it unusable, in whole sentences. */
export type FileReading<Value> = Readonly<{ ok: true; value: Value } | { ok: false; problems: readonly string[] }>;

/** A file to watch, and functions that read its content and apply the result. */
type WatchedFileOptions<Value> = Readonly<{
  path: string;
  /** The setting that specifies the file, for messages. */
  setting: string;
  /** Reads the parsed JSON5; one read ends before the next starts. */
  read: (content: unknown) => FileReading<Value> | Promise<FileReading<Value>>;
  /** Applies the value, including the first one. */
  apply: (value: Value) => void;
}>;

/** The log and the list of loaded files, which report changes to the file. */
export type WatchedFileDependencies = Readonly<{ log: Logger; files: ActiveFiles }>;

/** Time for which a file must stay unchanged before it is read, in case it is still being written. */
const settleMs = 100;
/**
 * Interval between checks of a file. File system events are no alternative: they don't work if the folder is removed, on some file systems,
 * or if the system runs out of watches.
 */
const checkIntervalMs = 500;

/**
 * Reads a JSON5 file now and on every change. If it becomes invalid later, the last valid content stays active, and the log and `files`
 * report it.
 *
 * @throws {StartupError} when the file can't be used at startup.
 */
export async function watchFile<Value>(
  { path, setting, read, apply }: WatchedFileOptions<Value>,
  { log, files }: WatchedFileDependencies,
): Promise<AsyncDisposable> {
  let stamp = "";
  const load = async (): Promise<readonly string[]> => {
    // If stat fails, the read reports why, once; the stamp changes again when stat succeeds.
    stamp = await findStamp(path);
    const content = readJson5File(path);
    if (!content.ok) return [content.message];
    const readResult = await read(content.value);
    if (!readResult.ok) return readResult.problems;
    apply(readResult.value);
    files.recordActive({ setting, path, sha256: hash("sha256", content.text) });
    return [];
  };
  const firstProblems = await load();
  if (firstProblems.length > 0) throw new StartupError(firstProblems.map((text) => `${setting}: ${path}: ${text}`));
  const check = async (signal: AbortSignal) => {
    const found = await findStamp(path);
    if (found === stamp) return;
    // A file that is still being written changes again; a later check reads it.
    await pauseInBackground(settleMs, signal);
    const isSettled = (await findStamp(path)) === found;
    if (!isSettled || signal.aborted) return;
    const problems = await load();
    if (problems.length === 0) return log.info({ event: "file-reloaded", path }, `${setting} was reloaded`);
    files.recordRejected(setting, problems);
    const text = `the previous content stays active; ${setting}: ${path}: ${problems.join(" ")}`;
    log.error({ event: "file-rejected", path }, text);
  };
  const options = { name: `watch of ${setting}`, intervalMs: checkIntervalMs, failed: () => undefined };
  const checks = poll(options, check, { log, pause: pauseInBackground });
  // A check in progress may hang with the file system, such as NFS without its server.
  return { [Symbol.asyncDispose]: async () => void checks[Symbol.asyncDispose]() };
}

/**
 * Reads a stamp that changes when a file is written or replaced, without reading the file; empty if there is no file. If stat fails, the
 * stamp is the reason for the failure.
 */
export function findStamp(path: string): Promise<string> {
  return stat(path).then(formatStamp, formatUnreadableStamp);
}

/** Includes the inode's change time, because a program can reset the modification time. */
function formatStamp({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

function formatUnreadableStamp(cause: unknown): string {
  const reason = explainUnreadable(cause);
  return reason === "ENOENT" ? "" : reason;
}
