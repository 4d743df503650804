import type { Writable } from "node:stream";

/** Most bytes that wait for a reader: some minutes of a busy service's log, and little beside its memory. */
const waitingBytesMax = 4 * 1024 * 1024;

/** What becomes of lines that are not written. */
export type OutputLosses = Readonly<{
  /** Lines were dropped for want of a reader; called once there is room again, before the next line. */
  dropped: (lines: number) => void;
  /** A line could not be written; called for the first. */
  failed: (error: Error) => void;
}>;

/**
 * Writes lines for a reader that may be slow or gone, without ever waiting for it: a log must not hold up what it is about. What does not
 * fit is dropped and counted.
 */
export function boundedOutput(
  stream: Writable,
  { dropped, failed }: OutputLosses,
): Readonly<{ write: (line: string) => void }> {
  let lines = 0;
  stream.once("error", failed);
  // Each line on a full disk fails by itself; the first was told.
  stream.on("error", () => undefined);
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
      stream.write(line);
    },
  };
}
