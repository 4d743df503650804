import type { Writable } from "node:stream";

/**
 * Ignores a command's failing standard output until the returned function, at the process's exit, reports the cause and makes the status
 * 1. A closed reader is no failure.
 */
export function watchOutput(stream: Writable): () => void {
  let lost: NodeJS.ErrnoException | undefined;
  stream.on("error", (error) => (lost ??= error));
  return () => {
    // A command that exits right after its write leaves no time for the event.
    const { code } = lost ?? (stream.errored as NodeJS.ErrnoException | null) ?? {};
    if (code === undefined || code === "EPIPE") return;
    process.stderr.write(`standard output can't be written (${code}); free space there, or redirect it elsewhere.\n`);
    process.exitCode ||= 1;
  };
}
