import type { Writable } from "node:stream";

/** Most bytes that wait for a reader: some minutes of a busy service's log, and little compared with its memory. */
const waitingBytesMax = 4 * 1024 * 1024;

/** Handling of lines that are not written. */
export type OutputLosses = Readonly<{
  /** Lines were dropped for want of a reader; called once there is room again, before the next line. */
  dropped: (lines: number) => void;
  /** A line could not be written; called for the first. */
  failed: (error: Error) => void;
}>;

const heard = new WeakSet<Writable>();

/**
 * Lets a stream fail without ending the process: a reader that is gone, or a disk that is full, is no reason to stop what is written about. Who
 * has to know of it takes the error from `write`.
 */
export function outlivesReader(stream: Writable): void {
  if (heard.has(stream)) return;
  heard.add(stream);
  stream.on("error", () => undefined);
}

/**
 * Writes lines for a reader that may be slow or gone, without ever waiting for it: a log must not hold up what it is about. What does not
 * fit is dropped and counted.
 */
export function createBoundedOutput(
  stream: Writable,
  { dropped, failed }: OutputLosses,
): Readonly<{ write: (line: string) => void }> {
  let lines = 0;
  let hasFailed = false;
  outlivesReader(stream);
  const written = (error: Error | null | undefined) => {
    if (!error || hasFailed) return;
    hasFailed = true;
    failed(error);
  };
  return {
    write: (line) => {
      if (stream.destroyed) return;
      if (stream.writableLength + line.length > waitingBytesMax) {
        lines += 1;
        return;
      }
      if (lines > 0) {
        const before = lines;
        lines = 0;
        dropped(before);
      }
      stream.write(line, written);
    },
  };
}
