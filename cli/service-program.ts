import { isSea } from "node:sea";
import { Command } from "@commander-js/extra-typings";
import { InvalidArgumentError, type Command as UntypedCommand } from "commander";
import { findNearestWord } from "#daemon/settings/problem.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { version } from "#daemon/version.ts";
import { addExamples } from "./command-examples.ts";
import { addService, isServiceCommand } from "./commands/service-commands.ts";
import { isServiceName, loadDefinition } from "./service-definitions.ts";

/** Creates the command line of one service, which loads no other command. */
export function createServiceProgram(name: string, { mask }: Readonly<{ mask: Mask }>): UntypedCommand {
  const program = createEmptyProgram();
  addService(program, name, mask);
  return completeProgram(program);
}

export function createEmptyProgram(): Command {
  return new Command("gatehouse")
    .description("Runs, guards and charges for an EVM node.")
    .version(version)
    .helpCommand(false)
    .addHelpText(
      "after",
      "\nStart here:\n  gatehouse stack --once         the whole system on this machine, one paid request, then stop\n  gatehouse <command> --help     what a command does and the settings to begin with\n  gatehouse completion bash      a script that completes commands and options on Tab",
    );
}

/** Adds to a program's commands what they have in common: settings, examples and hints in their help, suggestions in their errors. */
export function completeProgram(program: Command): UntypedCommand {
  addSettingsHelp(program);
  // The typed commands are commander's own objects.
  const untyped = program as unknown as UntypedCommand;
  suggestChoices(untyped);
  addExamples(untyped);
  rejectLeftOut(untyped);
  nameHelp(untyped, untyped.name());
  return untyped;
}

/** Adds a command's settings to its help; a service's help lists the commonly set ones first. */
function addSettingsHelp(program: Command): void {
  let help: string | undefined;
  // Help is printed synchronously, so the settings are loaded before it.
  program.hook("preSubcommand", async (_, chosen) => {
    const name = chosen.name();
    if (!isServiceName(name) || !process.argv.some((word) => helpWords.has(word))) return;
    const { formatSettingsHelp } = await import("./settings-help.ts");
    const showsAll = !isServiceCommand(name) || process.argv.includes("--all");
    help = formatSettingsHelp(await loadDefinition(name), showsAll ? "all" : "usual");
  });
  for (const command of program.commands) {
    const name = command.name();
    // `gatehouse help <command>` runs no hook.
    const hint = `\n"gatehouse ${name} --help" lists the settings.`;
    if (isServiceName(name)) command.addHelpText("after", () => help ?? hint);
  }
}

const helpWords: ReadonlySet<string> = new Set(["-h", "--help"]);

/** Makes a command's usage errors end with the help command that lists its subcommands or explains its options. */
function nameHelp(command: UntypedCommand, path: string): void {
  const lists = command.commands.length > 0 ? "lists the commands" : "shows how to use it";
  command.showHelpAfterError(`("${path} --help" ${lists})`);
  for (const inner of command.commands) nameHelp(inner, `${path} ${inner.name()}`);
}

/** Makes a command and its subcommands suggest the nearest choice when an argument or option with choices gets an invalid value. */
function suggestChoices(command: UntypedCommand): void {
  for (const part of [...command.registeredArguments, ...command.options]) {
    if (part.argChoices !== undefined && !part.variadic) part.argParser(createChoiceParser(part.argChoices));
  }
  for (const inner of command.commands) suggestChoices(inner);
}

function createChoiceParser(choices: readonly string[]): (text: string) => string {
  return (text) => {
    if (choices.includes(text)) return text;
    const meant = findNearestWord(text, choices);
    const hint = meant === undefined ? "" : `Did you mean ${meant}? `;
    throw new InvalidArgumentError(`${hint}Choose one of ${choices.join(", ")}.`);
  };
}

/** Commands that run the devnet, whose chain is a native program from an npm package. */
const devnetCommands: ReadonlySet<string> = new Set(["stack", "devnet"]);

/** Makes the single executable reject commands that need programs it doesn't include, with a one-line error. */
function rejectLeftOut(program: UntypedCommand): void {
  if (!isSea()) return;
  program.hook("preAction", (_, command) => {
    const name = command.name();
    if (!devnetCommands.has(name)) return;
    const without = `${name}: this executable does not include anvil, which the devnet needs`;
    command
      .showHelpAfterError(false)
      .error(`${without}; run it in a clone, or install the npm package with @foundry-rs/anvil.`);
  });
}
