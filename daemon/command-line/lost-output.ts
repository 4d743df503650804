import type { Writable } from "node:stream";

/**
 * Ignores failures of a command's standard output. The returned function, called when the process exits, reports the cause and sets the
 * exit status to 1. A closed reader is no failure.
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
