import { watch, type FSWatcher } from "chokidar";
import type { Logger } from "#daemon/log.ts";

/** What is watched. */
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
    /** Watches a path anew: it is another one, or its directory was replaced without an event. */
    renew: (path: string) => Promise<void>;
  }>;

/** Time between two looks where the system has no more watches to give. */
const pollIntervalMs = 250;

/** Codes that say that the system has no more watches or files to give. */
const exhausted: ReadonlySet<string> = new Set(["ENOSPC", "EMFILE", "ENFILE"]);

/** Watches a file; falls back to polling when the system has no watches left. */
export function watchConfig(options: ConfigWatchOptions, { log }: Readonly<{ log: Logger }>): ConfigWatch {
  let polling = false;
  let seen = false;
  let path = options.path;
  let watcher = begin();

  function begin(): FSWatcher {
    const started = watch(path, { ignoreInitial: true, usePolling: polling, interval: pollIntervalMs });
    started.on("all", () => {
      seen = true;
      options.onEvent();
    });
    started.on("error", (error) => {
      const code = (error as NodeJS.ErrnoException).code ?? "";
      log.warn({ err: error, path }, "watching node.conf failed; the periodic re-read goes on");
      if (polling || !exhausted.has(code)) return;
      polling = true;
      void renew(path);
    });
    return started;
  }

  async function renew(next: string): Promise<void> {
    path = next;
    const old = watcher;
    watcher = begin();
    await old.close();
  }

  const takeEvent = () => {
    const taken = seen;
    seen = false;
    return taken;
  };
  return { takeEvent, renew, [Symbol.asyncDispose]: () => watcher.close() };
}
