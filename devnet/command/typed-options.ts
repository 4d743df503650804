import { parseArgs } from "node:util";
import { CommandError } from "./command-error.ts";

/** Options of a command: a text that follows it, or only whether it was there. */
export type OptionTypes = Readonly<Record<string, "string" | "boolean">>;

/** What was typed for each option. */
export type TypedOptions = Readonly<Record<string, string | boolean | undefined>>;

/**
 * Reads `--name value` and `--name` from what was typed.
 *
 * @throws {CommandError} with the usage, status 2, on anything else.
 */
export function typedOptions(words: readonly string[], types: OptionTypes, usage: string): TypedOptions {
  const options = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }]));
  try {
    return parseArgs({ args: [...words], options, strict: true, allowPositionals: false }).values as TypedOptions;
  } catch (cause) {
    const [firstSentence] = (cause as Error).message.split(/\.\s/);
    throw new CommandError(`${firstSentence}.\n${usage}`, 2, { cause });
  }
}
