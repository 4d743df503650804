import { watch as watchDirectory } from "node:fs";
import { basename, dirname } from "node:path";
import { watch } from "chokidar";
import { findStamp } from "#daemon/files/watched-file.ts";
import type { Logger } from "#daemon/log/log.ts";
import { pauseInBackground, repeat } from "#daemon/time.ts";

export type ConfigWatchOptions = Readonly<{
  path: string;
  /** Called on each file event. It only wakes the loop and never reads. */
  onEvent: () => void;
}>;

const pollIntervalMs = 250;

/** Error codes for a system that has no free watches or file descriptors. */
const exhaustedCodes: ReadonlySet<string> = new Set(["ENOSPC", "EMFILE", "ENFILE"]);

/**
 * Watches the file (chokidar) and its directory: after a rename, the file's watch is briefly on the old inode. Polls if no watch is free.
 */
export function watchConfig(options: ConfigWatchOptions, { log }: Readonly<{ log: Logger }>) {
  let isPolling = false;
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
      "can't watch node.conf; it is still reread periodically",
    );
    if (isPolling || !exhaustedCodes.has(code)) return;
    isPolling = true;
    void replaceWatchers(path);
  };
  const createWatchers = () =>
    isPolling ? [pollFile(path, onEvent, onError)] : watchFileAndDirectory(path, onEvent, onError);
  let watchers = createWatchers();

  async function replaceWatchers(next: string): Promise<void> {
    path = next;
    const old = watchers;
    watchers = createWatchers();
    await close(old);
  }

  return {
    takeEvent: () => {
      const taken = seen;
      seen = false;
      return taken;
    },
    /** Renews the watch on a path after the path changed, or after its directory was replaced without an event. */
    renew: async (next: string) => {
      // A poll follows the path, even if the file there is replaced.
      if (!isPolling || next !== path) await replaceWatchers(next);
    },
    [Symbol.asyncDispose]: () => close(watchers),
  };
}

type Watcher = Readonly<{ close: () => unknown }>;

async function close(watchers: readonly Watcher[]): Promise<void> {
  for (const watcher of watchers) await watcher.close();
}

/**
 * Doesn't use chokidar, which drops a change within 50 ms of another. The first poll counts as an event: the file may have changed before
 * it.
 */
function pollFile(path: string, onEvent: () => void, onError: (error: unknown) => void): Watcher {
  let last: string | undefined;
  const poll = async (signal: AbortSignal) => {
    const stamp = await findStamp(path);
    if (!signal.aborted && stamp !== last) onEvent();
    last = stamp;
  };
  const polls = repeat(poll, { intervalMs: pollIntervalMs, failed: onError }, { pause: pauseInBackground });
  // Doesn't wait for a poll in progress, which may hang with the file system.
  return { close: () => void polls[Symbol.asyncDispose]() };
}

function watchFileAndDirectory(path: string, onEvent: () => void, onError: (error: unknown) => void): Watcher[] {
  const file = watch(path, { ignoreInitial: true }).on("all", onEvent).on("error", onError);
  return [file, ...watchParentDirectory(path, onEvent, onError)];
}

/** Watches the directory for changes to the file itself and to a ConfigMap's links (`..data`); ignores other events. */
function watchParentDirectory(path: string, onEvent: () => void, onError: (error: unknown) => void): Watcher[] {
  const name = basename(path);
  try {
    const watcher = watchDirectory(dirname(path), { persistent: false }, (_, changed) => {
      if (changed === null || changed === name || changed.startsWith("..")) onEvent();
    });
    return [watcher.on("error", onError)];
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    // These errors need no report: the periodic re-read finds a missing directory, and chokidar reports exhausted watches itself.
    if (code !== "ENOENT" && !exhaustedCodes.has(code)) onError(error);
    return [];
  }
}
