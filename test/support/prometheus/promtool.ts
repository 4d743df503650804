import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

export const withoutPromtool = hasPromtool ? "" : " (skipped: promtool is not on PATH)";

type ToolResult = Readonly<{ status: number | null; output: string }>;

export function runPromtool(
  args: readonly string[],
  files: Readonly<Record<string, string>>,
  input?: string,
): ToolResult {
  return runProgram("promtool", args, files, input);
}

export function runProgram(
  program: string,
  args: readonly string[],
  files: Readonly<Record<string, string>>,
  input?: string,
): ToolResult {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-promtool-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    // promtool exits before its memory use matters, and garbage collection would take a quarter of the time.
    const env = { ...process.env, GOGC: "400" };
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: directory, env, input, encoding: "utf8" });
    return { status, output: stdout + stderr };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
