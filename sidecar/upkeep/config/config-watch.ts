import { watch as watchDirectory, type FSWatcher as DirectoryWatcher } from "node:fs";
import { basename, dirname } from "node:path";
import { watch, type FSWatcher } from "chokidar";
import type { Logger } from "#daemon/log/log.ts";

export type ConfigWatchOptions = Readonly<{
  path: string;
  /** Called at each event of the file; only wakes, never reads. */
  onEvent: () => void;
}>;

/** A file under watch. */
export type ConfigWatch = AsyncDisposable &
  Readonly<{
    /** Whether an event came since the last call. */
    takeEvent: () => boolean;
    /** Watches a path again: it is another one, or its directory was replaced without an event. */
    renew: (path: string) => Promise<void>;
  }>;

/** Time between two looks if the system has no more watches to give. */
const pollIntervalMs = 250;

/** Codes that say that the system has no more watches or files to give. */
const exhausted: ReadonlySet<string> = new Set(["ENOSPC", "EMFILE", "ENFILE"]);

/**
 * Watches a file through links and renames (chokidar), and its directory with it: for a moment after each rename the watch on
 * the file hangs on the old inode, and a write in that moment would only be seen by the next periodic read. Falls back to
 * polling when the system has no watches left.
 */
export function watchConfig(options: ConfigWatchOptions, { log }: Readonly<{ log: Logger }>): ConfigWatch {
  let polling = false;
  let seen = false;
  let path = options.path;
  const onEvent = () => {
    seen = true;
    options.onEvent();
  };
  const onError = (error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    log.warn(
      { event: "config-not-watched", err: error, path },
      "watching node.conf failed; the periodic re-read goes on",
    );
    if (polling || !exhausted.has(code)) return;
    polling = true;
    void replaceWatchers(path);
  };
  const begin = (): Watchers => ({
    file: watch(path, { ignoreInitial: true, usePolling: polling, interval: pollIntervalMs })
      .on("all", onEvent)
      .on("error", onError),
    directory: polling ? undefined : watchDirectoryOf(path, onEvent, onError),
  });
  let watchers = begin();

  async function replaceWatchers(next: string): Promise<void> {
    path = next;
    const old = watchers;
    watchers = begin();
    await close(old);
  }

  const takeEvent = () => {
    const taken = seen;
    seen = false;
    return taken;
  };
  return { takeEvent, renew: replaceWatchers, [Symbol.asyncDispose]: () => close(watchers) };
}

type Watchers = Readonly<{ file: FSWatcher; directory: DirectoryWatcher | undefined }>;

async function close({ file, directory }: Watchers): Promise<void> {
  directory?.close();
  await file.close();
}

/** Watches the directory for the file itself and for the links of a ConfigMap (`..data`), not for what else happens there. */
function watchDirectoryOf(
  path: string,
  onEvent: () => void,
  onError: (error: unknown) => void,
): DirectoryWatcher | undefined {
  const name = basename(path);
  try {
    const watcher = watchDirectory(dirname(path), { persistent: false }, (_, changed) => {
      if (changed === null || changed === name || changed.startsWith("..")) onEvent();
    });
    return watcher.on("error", onError);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    // A directory that is not there yet is found by the periodic re-read; that watches are used up is reported by chokidar, too.
    if (code !== "ENOENT" && !exhausted.has(code)) onError(error);
    return undefined;
  }
}
