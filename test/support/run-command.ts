import { spawn } from "node:child_process";
import { once } from "node:events";
import { buildOwnEnvironment } from "./own-environment.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { gatehouseProgram } from "./programs/place.ts";

export type CommandResult = Readonly<{ status: number | null; stdout: string; stderr: string }>;

/**
 * Runs `gatehouse <args>` to its end, in this directory or another one, with an environment of PATH and the given
 * variables only.
 */
export function runGatehouse(args: readonly string[], env: Environment = {}, cwd?: string): Promise<CommandResult> {
  return runProgram(process.execPath, [gatehouseProgram, ...args], env, cwd);
}

export async function runProgram(
  program: string,
  args: readonly string[],
  env: Environment,
  cwd: string | undefined,
): Promise<CommandResult> {
  const child = spawn(program, args, {
    env: buildOwnEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
    cwd,
  });
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed.stderr += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, ...printed };
}
