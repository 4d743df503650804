import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import type { SidecarSettings } from "../settings.ts";

/** Commands that change a running sidecar. */
export const controlVerbs = ["resume", "adopt"] as const;

type ControlVerb = (typeof controlVerbs)[number];

/** Commands that messages advise a person to run. */
type AdvisedCommand = ControlVerb | "upgrade --cancel" | "restore --snapshot";

/** Formats the exact command for this deployment, as a person types it. */
export type CommandWords = (command: AdvisedCommand) => string;

/**
 * Creates the formatter of commands: they begin with the deployment's prefix, or, if it has none, with this program. They find the one sidecar that runs on
 * this machine; where several run, the command says how each is named. A restore names the state, because the sidecar may have stopped.
 */
export function createCommandWords(
  { commandPrefix }: Pick<SidecarSettings["upkeep"], "commandPrefix">,
  stateDirectory: string,
): CommandWords {
  return (command) => {
    if (commandPrefix !== undefined) return `${commandPrefix} ${command}`;
    const place = command === "restore --snapshot" ? ` --state-directory ${quoteShellWord(stateDirectory)}` : "";
    return `${formatOwnCommand()} ${command}${place}`;
  };
}
