import { spawn } from "node:child_process";
import { once } from "node:events";
import { gatehouseProgram } from "./programs/place.ts";

export type CommandResult = Readonly<{ status: number | null; stdout: string; stderr: string }>;

/**
 * Runs `gatehouse <args>` to its end, in this directory or another one, with an environment of PATH and the given
 * variables only.
 */
export function runGatehouse(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<CommandResult> {
  return runProgram(process.execPath, [gatehouseProgram, ...args], env, cwd);
}

export async function runProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string | undefined,
): Promise<CommandResult> {
  const child = spawn(program, args, {
    // Of the services announced here, a command finds only this process's.
    env: { PATH: process.env["PATH"] ?? "", XDG_RUNTIME_DIR: process.env["XDG_RUNTIME_DIR"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    cwd,
  });
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.stderr += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, ...printed };
}
