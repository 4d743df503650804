import type { Logger } from "#daemon/log/log.ts";

/** Progress of a long transfer, in bytes. */
export type Progress = Readonly<{ add: (bytes: number) => void; doneBytes: () => number }>;

type ProgressOptions = Readonly<{ everyMs: number; fromBytes?: number; totalBytes?: number | undefined }>;

/** Creates a progress tracker that logs at most one line per `everyMs`. */
export function createProgress(
  phase: string,
  { everyMs, fromBytes = 0, totalBytes }: ProgressOptions,
  log: Logger,
): Progress {
  const startMs = performance.now();
  let doneBytes = fromBytes;
  let shownMs = startMs;
  return {
    doneBytes: () => doneBytes,
    add: (bytes) => {
      doneBytes += bytes;
      const nowMs = performance.now();
      if (nowMs - shownMs < everyMs) return;
      shownMs = nowMs;
      const bytesPerSecond = Math.round(((doneBytes - fromBytes) / (nowMs - startMs)) * 1_000);
      const percent = totalBytes === undefined ? "" : ` (${((doneBytes / totalBytes) * 100).toFixed(1)} %)`;
      const speed = `${(bytesPerSecond / 2 ** 20).toFixed(1)} MiB/s`;
      log.info(
        { event: "restore-progress", phase, doneBytes, totalBytes, bytesPerSecond },
        `${phase}: ${(doneBytes / 2 ** 30).toFixed(2)} GiB${percent}, ${speed}`,
      );
    },
  };
}
