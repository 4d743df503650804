import { watch } from "chokidar";
import type { Logger } from "#daemon/log.ts";
import { readJson5File } from "#daemon/json5-file.ts";
import { StartupError } from "#daemon/startup-error.ts";

/** How a file's content becomes what is in force. */
export type WatchedFileOptions<Value> = Readonly<{
  path: string;
  /** The setting that names the file, for messages. */
  setting: string;
  /** Reads the parsed JSON5; a string says what is wrong with it. */
  read: (content: unknown) => Value | string;
  /** Takes every value that differs in text from the one before, the first one included. */
  take: (value: Value) => void;
}>;

/** Time in which a file that is being written has to stay the same before it is read. */
const settleMs = 100;

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
  const load = (): string | undefined => {
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
  const watcher = watch(path, {
    ignoreInitial: true,
    awaitWriteFinish: { stabilityThreshold: settleMs, pollInterval: 20 },
  });
  watcher.on("add", reload);
  watcher.on("change", reload);
  watcher.on("error", (error) => log.error({ err: error, path }, `${setting} can't be watched`));
  return { [Symbol.asyncDispose]: () => watcher.close() };
}
