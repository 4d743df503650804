import { join } from "node:path";
import { inspect, parseArgs } from "node:util";
import { StartupError } from "#daemon/process/startup-error.ts";
import { readParameters } from "../workspace/node-parameters.ts";

/** Runs a command in a workspace, with the words after the command's name; returns the text to print. */
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

/** Chooses the exit status: a strict node's programs end with 0 whatever happened, and only their standard error says what. */
function chooseExitStatus(error: unknown, workspace: string): number {
  try {
    if (readParameters(join(workspace, "devnet.json")).profile === "strict") return 0;
  } catch {
    // The command's own error already says what is wrong with the parameters.
  }
  return error instanceof CommandError ? error.exitStatus : 1;
}

/** Ends a command with a message for the person who typed it. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code = "command_failed";
  /** 1: it failed; 2: wrong usage. */
  readonly exitStatus: 1 | 2;

  constructor(message: string, exitStatus: 1 | 2, options?: ErrorOptions) {
    super(message, options);
    this.exitStatus = exitStatus;
  }
}

/** Types of a command's options: `string` takes a value, `boolean` takes none. */
export type OptionTypes = Readonly<Record<string, "string" | "boolean">>;

/** Values typed for each option. */
export type TypedOptions = Readonly<Record<string, string | boolean | undefined>>;

/**
 * Parses `--name value` and `--name`.
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
