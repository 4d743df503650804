import { hash } from "node:crypto";
import { statSync, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { watch } from "chokidar";
import type { Logger } from "../log/log.ts";
import type { FilesLoaded } from "./files-in-force.ts";
import { readJson5File } from "./json5-file.ts";
import { explainUnreadable } from "./regular-file.ts";
import { StartupError } from "../process/startup-error.ts";
import { pause } from "../time.ts";

/** Value of a file's content, or every problem that makes it unusable, each in whole sentences. */
export type FileReading<Value> = Readonly<{ ok: true; value: Value } | { ok: false; problems: readonly string[] }>;

/** A file to watch, and functions that read its content and put the result into force. */
export type WatchedFileOptions<Value> = Readonly<{
  path: string;
  /** The setting that names the file, for messages. */
  setting: string;
  /** Reads the parsed JSON5. */
  read: (content: unknown) => FileReading<Value>;
  /** Takes what was read, the first time included. */
  apply: (value: Value) => void;
}>;

/** Log and list in which changes of the file are reported. */
export type WatchedFileDependencies = Readonly<{ log: Logger; files: FilesLoaded }>;

/** Time in which a file that is being written has to stay the same before it is read. */
const settleMs = 100;
/** Time between two checks for a change without an event: a watch is lost with its folder, on some file systems, and when watches run out. */
const checkEveryMs = 1_000;

/**
 * Reads a JSON5 file now and whenever it changes. If it becomes invalid later, the last valid content stays in force, and the log and `files` say so.
 *
 * @throws {StartupError} when the file can't be used at the start.
 */
export function watchFile<Value>(
  { read, apply, ...file }: WatchedFileOptions<Value>,
  dependencies: WatchedFileDependencies,
): AsyncDisposable {
  const watched = createWatchedFile(file, dependencies);
  const load = (): readonly string[] => {
    const content = watched.read();
    if (!content.ok) return [content.message];
    const reading = read(content.value);
    if (!reading.ok) return reading.problems;
    apply(reading.value);
    watched.noteInForce(content.text);
    return [];
  };
  watched.requireUsable(load());
  return watched.follow(() => watched.report(load()));
}

/** Like {@link WatchedFileOptions}, with asynchronous reading. */
export type OpenedFileOptions<Value> = Omit<WatchedFileOptions<Value>, "read"> &
  Readonly<{ read: (content: unknown) => Promise<FileReading<Value>> }>;

/**
 * Watches a file like {@link watchFile}, with asynchronous reading; one reading ends before the next begins.
 *
 * @throws {StartupError} when the file can't be used at the start.
 */
export async function openWatchedFile<Value>(
  { read, apply, ...file }: OpenedFileOptions<Value>,
  dependencies: WatchedFileDependencies,
): Promise<AsyncDisposable> {
  const watched = createWatchedFile(file, dependencies);
  const load = async (): Promise<readonly string[]> => {
    const content = watched.read();
    if (!content.ok) return [content.message];
    const reading = await read(content.value);
    if (!reading.ok) return reading.problems;
    apply(reading.value);
    watched.noteInForce(content.text);
    return [];
  };
  watched.requireUsable(await load());
  let loading = Promise.resolve();
  return watched.follow(() => {
    loading = loading.then(async () => watched.report(await load()));
  });
}

/** Creates the common part of {@link watchFile} and {@link openWatchedFile}. */
function createWatchedFile(
  { path, setting }: Readonly<{ path: string; setting: string }>,
  { log, files }: WatchedFileDependencies,
) {
  let stamp = "";
  return {
    read: () => {
      stamp = readStamp(path);
      return readJson5File(path);
    },
    noteInForce: (text: string) => files.noteInForce({ setting, path, sha256: hash("sha256", text) }),
    requireUsable: (problems: readonly string[]) => {
      if (problems.length > 0) throw new StartupError(problems.map((problem) => `${setting}: ${path}: ${problem}`));
    },
    /** Reports how a later reading ended. */
    report: (problems: readonly string[]) => {
      if (problems.length === 0) return log.info({ event: "file-reloaded", path }, `${setting} was read again`);
      files.refused(setting, problems);
      log.error(
        { event: "file-rejected", path },
        `what was read before stays in force; ${setting}: ${path}: ${problems.join(" ")}`,
      );
    },
    follow: (reload: () => void): AsyncDisposable => {
      let isChecking = false;
      let isOver = false;
      // Not on this thread: a file system that hangs, as NFS without its server, would stop all that it serves. One check at a time, as each that
      // does not come back takes one of the few threads that there are for files.
      const check = async () => {
        if (isChecking) return;
        isChecking = true;
        const found = await findStamp(path);
        // One that is still being written changes once more, and is for a later check.
        const isSettled = found !== stamp && (await pause(settleMs).then(() => findStamp(path))) === found;
        isChecking = false;
        if (isOver || !isSettled || found === stamp) return;
        reload();
        // No event came of it, so this watch sees the file no more.
        void watcher.close();
        watcher = open();
      };
      const open = () =>
        watch(path, { ignoreInitial: true, awaitWriteFinish: { stabilityThreshold: settleMs, pollInterval: 20 } })
          // What changes before the watch is there is no event.
          .on("ready", () => void check())
          .on("add", reload)
          .on("change", reload)
          .on("error", (error) =>
            log.error({ event: "file-not-watched", err: error, path }, `${setting} can't be watched`),
          );
      let watcher = open();
      const timer = setInterval(() => void check(), checkEveryMs).unref();
      return {
        [Symbol.asyncDispose]: async () => {
          isOver = true;
          clearInterval(timer);
          await watcher.close();
        },
      };
    },
  };
}

/**
 * Reads a stamp that changes when a file is written or replaced, without reading the file; empty if there is no file. A
 * file that can't be looked at has the reason for its stamp: it is read again once for that, which shows what is wrong
 * with it, and once more when it can be looked at again.
 */
function readStamp(path: string): string {
  try {
    return formatStamp(statSync(path));
  } catch (cause) {
    return formatUnreadableStamp(cause);
  }
}

function findStamp(path: string): Promise<string> {
  return stat(path).then(formatStamp, formatUnreadableStamp);
}

/** The time of the last change of the inode is in it: a program can set that of the content back. */
function formatStamp({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

function formatUnreadableStamp(cause: unknown): string {
  const reason = explainUnreadable(cause);
  return reason === "ENOENT" ? "" : reason;
}
