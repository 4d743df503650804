import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether Prometheus's promtool is on PATH. */
export const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

/** Suffix for the names of tests that need promtool; empty if it is installed. */
export const withoutPromtool = hasPromtool ? "" : " (skipped: promtool is not on PATH)";

type Ended = Readonly<{ status: number | null; output: string }>;

/** Runs promtool in a directory with these files; returns its exit status and output. */
export function runPromtool(args: readonly string[], files: Readonly<Record<string, string>>, input?: string): Ended {
  return runProgram("promtool", args, files, input);
}

/** Runs a program in a directory with these files; returns its exit status and output. */
export function runProgram(
  program: string,
  args: readonly string[],
  files: Readonly<Record<string, string>>,
  input?: string,
): Ended {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-promtool-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    // A short run ends before memory matters: garbage collection costs a Go program a quarter of its time.
    const env = { ...process.env, GOGC: "400" };
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: directory, env, input, encoding: "utf8" });
    return { status, output: stdout + stderr };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
