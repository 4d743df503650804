import { hash } from "node:crypto";
import { statSync, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { watch } from "chokidar";
import type { Logger } from "../log.ts";
import type { FilesInForce } from "./files-in-force.ts";
import { readJson5File } from "./json5-file.ts";
import { explainUnreadable } from "./regular-file.ts";
import { StartupError } from "../startup-error.ts";

/** How a file's content becomes what is in force. */
export type WatchedFileOptions<Value> = Readonly<{
  path: string;
  /** The setting that names the file, for messages. */
  setting: string;
  /** Reads the parsed JSON5; a string says what is wrong with it. */
  read: (content: unknown) => Value | string;
  /** Takes what was read, the first time included. */
  take: (value: Value) => void;
}>;

/** Who is told of what a file holds. */
export type WatchedFileDependencies = Readonly<{ log: Logger; files: FilesInForce }>;

/** Time in which a file that is being written has to stay the same before it is read. */
const settleMs = 100;
/** Time between two looks at whether a change has been missed: watches are lost on some file systems, and when they run out. */
const lookAgainMs = 30_000;

/**
 * Reads a JSON5 file now and whenever it changes. A file that turns bad later leaves in force what was, and the log and `files` say so.
 *
 * @throws {StartupError} when the file can't be used at the start.
 */
export function watchFile<Value extends object>(
  { read, take, ...file }: WatchedFileOptions<Value>,
  dependencies: WatchedFileDependencies,
): AsyncDisposable {
  const watched = watchedFile(file, dependencies);
  const load = (): string | undefined => {
    const content = watched.read();
    if (!content.ok) return content.message;
    const value = read(content.value);
    if (typeof value === "string") return value;
    take(value);
    watched.taken(content.text);
    return undefined;
  };
  const failure = load();
  if (failure !== undefined) throw watched.unusable(failure);
  return watched.follow(() => watched.tell(load()));
}

/** How a file's content becomes what is in force where that takes a while. */
export type OpenedFileOptions<Value> = Omit<WatchedFileOptions<Value>, "read"> &
  Readonly<{ read: (content: unknown) => Promise<Value | string> }>;

/**
 * The same as {@link watchFile} for what is read by waiting; one reading ends before the next begins.
 *
 * @throws {StartupError} when the file can't be used at the start.
 */
export async function openWatchedFile<Value extends object>(
  { read, take, ...file }: OpenedFileOptions<Value>,
  dependencies: WatchedFileDependencies,
): Promise<AsyncDisposable> {
  const watched = watchedFile(file, dependencies);
  const load = async (): Promise<string | undefined> => {
    const content = watched.read();
    if (!content.ok) return content.message;
    const value = await read(content.value);
    if (typeof value === "string") return value;
    take(value);
    watched.taken(content.text);
    return undefined;
  };
  const failure = await load();
  if (failure !== undefined) throw watched.unusable(failure);
  let reading = Promise.resolve();
  return watched.follow(() => {
    reading = reading.then(async () => watched.tell(await load()));
  });
}

/** What reading a file at the start and again has in common. */
function watchedFile(
  { path, setting }: Readonly<{ path: string; setting: string }>,
  { log, files }: WatchedFileDependencies,
) {
  const problem = (message: string) => message.replaceAll(/^/gm, `${setting}: ${path}: `);
  let stamp = "";
  return {
    read: () => {
      stamp = stampOf(path);
      return readJson5File(path);
    },
    taken: (text: string) => files.taken({ setting, path, sha256: hash("sha256", text) }),
    unusable: (message: string) => new StartupError(problem(message)),
    /** Tells how a later reading ended. */
    tell: (wrong: string | undefined) => {
      if (wrong === undefined) return log.info({ event: "file-read-again", path }, `${setting} was read again`);
      files.refused(setting, wrong);
      log.error({ event: "file-refused", path }, `${problem(wrong)}; what was read before stays in force`);
    },
    follow: (reload: () => void): AsyncDisposable => {
      let isLooking = false;
      // Beside this thread: a file system that hangs, as NFS without its server, would stop all that it serves. One look at a time, as each that
      // does not come back takes one of the few threads that there are for files.
      const lookAgain = async () => {
        if (isLooking) return;
        isLooking = true;
        const found = await stat(path).then(stampFrom, unreadableStamp);
        isLooking = false;
        if (!isOver && found !== stamp) reload();
      };
      let isOver = false;
      const watcher = watch(path, {
        ignoreInitial: true,
        awaitWriteFinish: { stabilityThreshold: settleMs, pollInterval: 20 },
      });
      // What changes before the watch is there is no event.
      watcher.on("ready", () => void lookAgain());
      const timer = setInterval(() => void lookAgain(), lookAgainMs).unref();
      watcher.on("add", reload);
      watcher.on("change", reload);
      watcher.on("error", (error) =>
        log.error({ event: "file-not-watched", err: error, path }, `${setting} can't be watched`),
      );
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
 * What tells whether a file was written or replaced, without reading it; empty when there is none. A file that can't be looked at has the reason
 * for its stamp: it is read again once for that, which tells what is wrong with it, and once more when it can be looked at again.
 */
function stampOf(path: string): string {
  try {
    return stampFrom(statSync(path));
  } catch (cause) {
    return unreadableStamp(cause);
  }
}

function stampFrom({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}

function unreadableStamp(cause: unknown): string {
  const reason = explainUnreadable(cause);
  return reason === "ENOENT" ? "" : reason;
}
