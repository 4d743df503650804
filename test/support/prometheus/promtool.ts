import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether Prometheus's promtool is on PATH. */
export const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

/** What a test's name says where it can't run. */
export const withoutPromtool = hasPromtool ? "" : " (skipped: promtool is not on PATH)";

/** What a program said and how it ended. */
type Ended = Readonly<{ status: number | null; output: string }>;

/** Runs promtool in a folder of these files; its exit status and all that it printed. */
export function runPromtool(args: readonly string[], files: Readonly<Record<string, string>>, input?: string): Ended {
  return runProgram("promtool", args, files, input);
}

/** Runs a program in a folder of these files; its exit status and all that it printed. */
export function runProgram(
  program: string,
  args: readonly string[],
  files: Readonly<Record<string, string>>,
  input?: string,
): Ended {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-promtool-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: directory, input, encoding: "utf8" });
    return { status, output: stdout + stderr };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
