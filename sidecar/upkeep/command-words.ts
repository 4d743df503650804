import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import type { SidecarSettings } from "../settings.ts";

/** Commands that change a running sidecar. */
export const controlVerbs = ["resume", "adopt"] as const;

type ControlVerb = (typeof controlVerbs)[number];

/** What a message advises to type. */
type AdvisedCommand = ControlVerb | "upgrade --cancel" | "restore --snapshot";

/** The exact command for this deployment, as a person types it. */
export type CommandWords = (command: AdvisedCommand) => string;

/** Creates the words: the prefix that the deployment gives, or this very program with the sidecar's state. */
export function createCommandWords(
  { commandPrefix }: Pick<SidecarSettings["upkeep"], "commandPrefix">,
  stateDirectory: string,
): CommandWords {
  return (command) =>
    commandPrefix === undefined
      ? `${formatOwnCommand()} ${command} --state-directory ${quoteShellWord(stateDirectory)}`
      : `${commandPrefix} ${command}`;
}
