import type { Writable } from "node:stream";

/** Max bytes buffered for a reader: a few minutes of a busy service's log, and small compared with its memory. */
const waitingBytesMax = 4 * 1024 * 1024;

export type OutputLosses = Readonly<{
  /** Called when lines have been dropped because the reader was too slow: as soon as there is space again, before the next line. */
  dropped: (lines: number) => void;
  /** Called for the first line that could not be written. */
  failed: (error: Error) => void;
}>;

const heard = new WeakSet<Writable>();

/**
 * Keeps the process alive when a stream fails: a closed reader or a full disk is no reason to stop the service. Callers that need the error
 * get it from `write`.
 */
export function ignoreStreamErrors(stream: Writable): void {
  if (heard.has(stream)) return;
  heard.add(stream);
  stream.on("error", () => undefined);
}

/**
 * Writes lines to a reader that may be slow or closed, without ever waiting: a log must not block the service. Lines that don't fit are
 * dropped and counted.
 */
export function createBoundedOutput(
  stream: Writable,
  { dropped, failed }: OutputLosses,
): Readonly<{ write: (line: string) => void }> {
  let lines = 0;
  let hasFailed = false;
  ignoreStreamErrors(stream);
  const onWritten = (error: Error | null | undefined) => {
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
        const droppedCount = lines;
        lines = 0;
        dropped(droppedCount);
      }
      stream.write(line, onWritten);
    },
  };
}
