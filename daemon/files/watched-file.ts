import { statSync } from "node:fs";
import { watch } from "chokidar";
import type { Logger } from "../log.ts";
import { readJson5File } from "./json5-file.ts";
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

/** Time in which a file that is being written has to stay the same before it is read. */
const settleMs = 100;
/** Time between two looks at whether a change has been missed: watches are lost on some file systems, and when they run out. */
const lookAgainMs = 30_000;

/**
 * Reads a JSON5 file now and whenever it changes. A file that turns bad later leaves in force what was, and the log says so.
 *
 * @throws {StartupError} when the file can't be used at the start.
 */
export function watchFile<Value extends object>(
  { path, setting, read, take }: WatchedFileOptions<Value>,
  { log }: Readonly<{ log: Logger }>,
): AsyncDisposable {
  const problem = (message: string) => `${setting}: ${path}: ${message}`;
  const state = { stamp: "" };
  const load = (): string | undefined => {
    state.stamp = stampOf(path);
    const file = readJson5File(path);
    if (!file.ok) return problem(file.message);
    const value = read(file.value);
    if (typeof value === "string") return problem(value);
    take(value);
    return undefined;
  };
  const failure = load();
  if (failure !== undefined) throw new StartupError(failure);
  const reload = () => {
    const wrong = load();
    if (wrong === undefined) log.info({ path }, `${setting} was read again`);
    else log.error({ path }, `${wrong}; what was read before stays in force`);
  };
  const lookAgain = () => {
    if (stampOf(path) !== state.stamp) reload();
  };
  const watcher = watch(path, {
    ignoreInitial: true,
    awaitWriteFinish: { stabilityThreshold: settleMs, pollInterval: 20 },
  });
  // What changes before the watch is there is no event.
  watcher.on("ready", lookAgain);
  const timer = setInterval(lookAgain, lookAgainMs).unref();
  watcher.on("add", reload);
  watcher.on("change", reload);
  watcher.on("error", (error) => log.error({ err: error, path }, `${setting} can't be watched`));
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await watcher.close();
    },
  };
}

/** What tells whether a file was written or replaced, without reading it; empty when there is none. */
function stampOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
