import { join } from "node:path";
import { inspect, parseArgs } from "node:util";
import { StartupError } from "#daemon/process/startup-error.ts";
import { readParameters } from "../workspace/node-parameters.ts";

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
    process.exitCode = chooseExitStatus(error, workspace);
  }
}

/** A strict node's programs end with status 0 whatever happened; only their standard error says so. */
function chooseExitStatus(error: unknown, workspace: string): number {
  try {
    if (readParameters(join(workspace, "devnet.json")).profile === "strict") return 0;
  } catch {
    // What is wrong with the parameters has been said as the command's own error.
  }
  return error instanceof CommandError ? error.exitStatus : 1;
}

/** Ends a command with a message for the person who typed it. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code = "command_failed";
  /** 1: it could not be done; 2: it was not typed as it has to be. */
  readonly exitStatus: 1 | 2;

  constructor(message: string, exitStatus: 1 | 2, options?: ErrorOptions) {
    super(message, options);
    this.exitStatus = exitStatus;
  }
}

/** Options of a command: a text that follows it, or only whether it was there. */
export type OptionTypes = Readonly<Record<string, "string" | "boolean">>;

/** Values typed for each option. */
export type TypedOptions = Readonly<Record<string, string | boolean | undefined>>;

/**
 * Reads `--name value` and `--name` from what was typed.
 *
 * @throws {CommandError} with the usage, status 2, on anything else.
 */
export function parseOptions(words: readonly string[], types: OptionTypes, usage: string): TypedOptions {
  const options = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]));
  try {
    return parseArgs({ args: [...words], options, strict: true, allowPositionals: false }).values as TypedOptions;
  } catch (cause) {
    const [firstSentence] = (cause as Error).message.split(/\.\s/);
    throw new CommandError(`${firstSentence}.\n${usage}`, 2, { cause });
  }
}
