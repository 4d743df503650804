import type { Command, Option } from "commander";
import { escapeCell, wrapLines } from "#daemon/markdown.ts";
import { commandExamples, listCommands } from "../command-examples.ts";
import { isServiceName } from "../service-definitions.ts";

/** Formats the command reference for the docs in Markdown: usage, options and examples of each command. */
export function renderCommandReference(program: Command): string {
  return [
    "# Command line",
    "",
    "Printed by `npm run docs` from the commands; do not edit. [Settings](settings.md) lists the environment variables of each service,",
    "[exit codes](exit-codes.md) how each command exits and what `--json` prints.",
    "",
    ...listCommands(program).flatMap(({ name, command }) => formatSection(name, command)),
  ].join("\n");
}

function formatSection(name: string, command: Command): readonly string[] {
  const isSet = isServiceName(name);
  const settings = isSet ? ` ([settings](settings.md#gatehouse-${name}))` : "";
  return [
    `## ${name}`,
    "",
    ...wrapLines(escapeCell(command.description())),
    "",
    `Usage: \`gatehouse ${name} ${command.usage()}\`${settings}`,
    "",
    ...formatArguments(command),
    ...formatOptions(command),
    ...formatExamples(commandExamples[name] ?? []),
  ];
}

function formatExamples(examples: readonly string[]): readonly string[] {
  return examples.length === 0 ? [] : [`Example: ${examples.map((example) => `\`${example}\``).join(", ")}`, ""];
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
  const lines = shown.flatMap((option) => {
    const fallback = option.mandatory ? "required" : formatDefault(option);
    const text = escapeCell(option.description) + formatChoices(option.argChoices);
    return wrapLines(`- \`${option.flags}\`${fallback === "" ? "" : ` (${fallback})`}: ${text}`);
  });
  return [...lines, ""];
}

function formatChoices(choices: readonly string[] | undefined): string {
  return choices === undefined ? "" : `; one of ${choices.map((choice) => `\`${choice}\``).join(", ")}`;
}

/** Formats an option's default, or the value that it takes when given without one; empty for a switch or a repeatable option. */
function formatDefault({ defaultValue, presetArg }: Option): string {
  if (presetArg !== undefined) return `alone: \`${String(presetArg)}\``;
  return typeof defaultValue === "string" || typeof defaultValue === "number" ? `\`${defaultValue}\`` : "";
}
