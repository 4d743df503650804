import { inspect } from "node:util";
import { StartupError } from "#daemon/startup-error.ts";
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
    process.exitCode = error instanceof CommandError ? error.exitStatus : 1;
  }
}
