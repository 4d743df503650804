import type { Command, Option } from "commander";
import { escapeCell, formatTable } from "#daemon/markdown.ts";
import { commandExamples, listCommands } from "../command-examples.ts";
import { serviceDefinitions } from "../service-definitions.ts";

/** A row of docs/exit-codes.md: meaning of one exit status of a command. */
type ExitCode = Readonly<{ command: string; code: string; meaning: string }>;

/**
 * Prints the commands of the docs, Markdown: each with its usage, options, exit codes and examples.
 *
 * @param exitCodes text of docs/exit-codes.md, which a test compares with the commands.
 */
export function printCommandReference(program: Command, exitCodes: string): string {
  const codes = readExitCodes(exitCodes);
  return [
    "# Command line",
    "",
    "Every command of `gatehouse`, as its `--help` describes it; printed by `npm run docs` from the same definitions. Settings are environment variables or stand in a file:",
    "[settings](settings.md) has them by service. [Exit codes](exit-codes.md) has what holds for all commands, and what `--json` prints.",
    "",
    ...listCommands(program).flatMap(({ name, command }) => formatSection(name, command, codes)),
  ].join("\n");
}

/** Reads the table of docs/exit-codes.md. */
function readExitCodes(page: string): readonly ExitCode[] {
  return [...page.matchAll(/^\| `?([a-z-]+)`? +\| (\d) +\| (.*?) +\|$/gm)].map(
    ([, command = "", code = "", meaning = ""]) => ({ command, code, meaning }),
  );
}

function formatSection(name: string, command: Command, codes: readonly ExitCode[]): readonly string[] {
  const [first = ""] = name.split(" ");
  const isSet = Object.hasOwn(serviceDefinitions, name);
  const own = codes.filter((code) => code.command === first);
  // A service that has no rows ends as every service does.
  const listed = own.length === 0 ? codes.filter((code) => code.command === "services") : own;
  return [
    `## ${name}`,
    "",
    escapeCell(command.description()),
    "",
    `Usage: \`gatehouse ${name} ${command.usage()}\`${isSet ? `; its settings: [\`gatehouse ${name}\`](settings.md#gatehouse-${name})` : ""}`,
    "",
    ...formatArguments(command),
    ...formatOptions(command),
    ...formatTable(
      ["exit", "meaning"],
      listed.map(({ code, meaning }) => [code, meaning]),
    ),
    "",
    ...(commandExamples[name] ?? []).map((example) => `- \`${example}\``),
    "",
  ];
}

function formatArguments({ registeredArguments }: Command): readonly string[] {
  const lines = registeredArguments.map(
    (argument) => `- \`${argument.name()}\`: ${escapeCell(argument.description)}${formatChoices(argument.argChoices)}`,
  );
  return lines.length === 0 ? [] : [...lines, ""];
}

function formatOptions(command: Command): readonly string[] {
  const shown = command.options.filter(({ hidden }) => !hidden);
  if (shown.length === 0) return [];
  const rows = shown.map((option) => [
    `\`${option.flags.replaceAll("|", "\\|")}\``,
    escapeCell(option.description) + formatChoices(option.argChoices),
    option.mandatory ? "required" : formatDefault(option),
  ]);
  return [...formatTable(["option", "what it is for", "default"], rows), ""];
}

function formatChoices(choices: readonly string[] | undefined): string {
  return choices === undefined ? "" : `; one of ${choices.map((choice) => `\`${choice}\``).join(", ")}`;
}

/** Formats an option's default, or its value if given alone; empty for a switch, and for an option that may be repeated. */
function formatDefault({ defaultValue, presetArg }: Option): string {
  if (presetArg !== undefined) return `none; alone: \`${String(presetArg)}\``;
  return typeof defaultValue === "string" || typeof defaultValue === "number" ? `\`${defaultValue}\`` : "";
}
