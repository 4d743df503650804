import { join } from "node:path";
import { inspect, parseArgs } from "node:util";
import { StartupError } from "#daemon/process/startup-error.ts";
import { readParameters } from "../workspace/node-parameters.ts";

/** Runs a command in a workspace with the arguments after the command's name; returns the text to print. */
export type Command = (workspace: string, args: readonly string[]) => Promise<string>;

/**
 * Runs a program from the bin directory: prints its output to standard output and exits with status 0, or prints a message to standard
 * error and exits with the error's status. The launcher passes the workspace as the first argument.
 */
export async function runCommand(name: string, command: Command, launched: readonly string[]): Promise<void> {
  const [workspace = "", ...args] = launched;
  try {
    process.stdout.write(await command(workspace, args));
  } catch (error) {
    const expected = error instanceof CommandError || error instanceof StartupError;
    process.stderr.write(`${name}: ${expected ? error.message : inspect(error)}\n`);
    process.exitCode = chooseExitStatus(error, workspace);
  }
}

/** Chooses the exit status: a strict node's programs always exit with 0 and report failures only on standard error. */
function chooseExitStatus(error: unknown, workspace: string): number {
  try {
    if (readParameters(join(workspace, "devnet.json")).profile === "strict") return 0;
  } catch {
    // The command itself already reports what is wrong with the parameters.
  }
  return error instanceof CommandError ? error.exitStatus : 1;
}

export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code = "command_failed";
  /** 1: failure; 2: wrong usage. */
  readonly exitStatus: 1 | 2;

  constructor(message: string, exitStatus: 1 | 2, options?: ErrorOptions) {
    super(message, options);
    this.exitStatus = exitStatus;
  }
}

type TypedOptions = Readonly<Record<string, string | boolean | undefined>>;

/**
 * Parses `--name value` and `--name`.
 *
 * @throws {CommandError} with the usage, status 2, on anything else.
 */
export function parseOptions(
  args: readonly string[],
  types: Readonly<Record<string, "string" | "boolean">>,
  usage: string,
): TypedOptions {
  const options = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]));
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values as TypedOptions;
  } catch (cause) {
    const [firstSentence] = (cause as Error).message.split(/\.\s/);
    throw new CommandError(`${firstSentence}.\n${usage}`, 2, { cause });
  }
}
