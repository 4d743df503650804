import type { ProcessResult } from "#daemon/bounded-process.ts";

/**
 * What a program's end in a container means, told from its exit status and words. A container's runtime says 127 of a program that is
 * not there and 126 of one that can't be executed, but older engines (Docker 20.10) say 126 for both, and only the words differ.
 */
export function exitFailure(name: string, exitCode: number | null, said: string): ProcessResult {
  const isAbsent = /no such file or directory|not found/.test(said);
  if (exitCode === 127 || (exitCode === 126 && isAbsent)) {
    const message = `${name} is not there (${said}); set nodeCli.command, or nodeCli.containerBinDirectory.`;
    return { ok: false, reason: "NotFound", message };
  }
  if (exitCode === 126) {
    return { ok: false, reason: "NotExecutable", message: `${name} can't be executed (${said}); run chmod +x on it.` };
  }
  const why = said === "" ? "." : `: ${said}`;
  return { ok: false, reason: "Failed", message: `${name} exited with status ${exitCode}${why}` };
}
