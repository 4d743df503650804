import { join } from "node:path";
import { createStream } from "rotating-file-stream";
import { createLog, type Logger } from "#daemon/log.ts";

/** A log in a file. Disposing of it waits until all is written. */
export type FileLog = AsyncDisposable & Readonly<{ log: Logger; path: string }>;

const logFileLimit = { size: "5M", maxFiles: 2 } as const;

/** Logs into `<runDirectory>/node.log`, which takes 15 MB at most together with what it rotated away. */
export function openNodeLog(runDirectory: string): FileLog {
  const file = createStream("node.log", { path: runDirectory, ...logFileLimit });
  return {
    log: createLog({ service: "devnet", level: "info" }, file),
    path: join(runDirectory, "node.log"),
    [Symbol.asyncDispose]: () => new Promise((resolve) => file.end(() => resolve())),
  };
}
