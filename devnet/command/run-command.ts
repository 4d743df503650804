import { join } from "node:path";
import { inspect } from "node:util";
import { StartupError } from "#daemon/startup-error.ts";
import { readParameters } from "../workspace/node-parameters.ts";
import { CommandError } from "./command-error.ts";

/** A command: given the workspace and what was typed after the command's name, it returns what is printed. */
export type Command = (workspace: string, words: readonly string[]) => Promise<string>;

/**
 * Runs a program of the bin directory: output on standard output and status 0, or a message on standard error and the status
 * that the error has. The launcher gives the workspace as the first of the arguments.
 */
export async function runCommand(name: string, command: Command, launched: readonly string[]): Promise<void> {
  const [workspace = "", ...words] = launched;
  try {
    process.stdout.write(await command(workspace, words));
  } catch (error) {
    const expected = error instanceof CommandError || error instanceof StartupError;
    process.stderr.write(`${name}: ${expected ? error.message : inspect(error)}\n`);
    process.exitCode = exitStatus(error, workspace);
  }
}

/** A strict node's programs end with status 0 whatever happened; only their standard error tells. */
function exitStatus(error: unknown, workspace: string): number {
  try {
    if (readParameters(join(workspace, "devnet.json")).profile === "strict") return 0;
  } catch {
    // What is wrong with the parameters has been said as the command's own error.
  }
  return error instanceof CommandError ? error.exitStatus : 1;
}
