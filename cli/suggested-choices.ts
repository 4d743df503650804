import { InvalidArgumentError, type Command } from "commander";
import { findNearestWord } from "#daemon/settings/problem.ts";

/** Has every argument and option with choices, of a command and those below it, tell which one was most likely meant. */
export function suggestChoices(command: Command): void {
  for (const part of [...command.registeredArguments, ...command.options]) {
    if (part.argChoices !== undefined && !part.variadic) part.argParser(choiceParser(part.argChoices));
  }
  for (const inner of command.commands) suggestChoices(inner);
}

function choiceParser(choices: readonly string[]): (text: string) => string {
  return (text) => {
    if (choices.includes(text)) return text;
    const meant = findNearestWord(text, choices);
    const question = meant === undefined ? "" : `Did you mean ${meant}? `;
    throw new InvalidArgumentError(`${question}Choose one of ${choices.join(", ")}.`);
  };
}
