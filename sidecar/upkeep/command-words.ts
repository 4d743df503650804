import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import type { SidecarSettings } from "../settings.ts";

/** Commands that change a running sidecar. */
export const controlVerbs = ["resume", "adopt"] as const;

type ControlVerb = (typeof controlVerbs)[number];

/** Commands that messages tell the operator to run. */
type AdvisedCommand = ControlVerb | "upgrade --cancel" | "restore --snapshot";

/** Formats the exact command line for this deployment. */
export type CommandText = (command: AdvisedCommand) => string;

/**
 * Creates the command formatter. Commands start with the deployment's prefix or, if there is none, with this program. If only one sidecar
 * runs on this machine, they find it; if there are several, the command prints how to select each. A restore command specifies the state,
 * because the sidecar may have stopped.
 */
export function createCommandText(
  { commandPrefix }: Pick<SidecarSettings["upkeep"], "commandPrefix">,
  stateDirectory: string,
): CommandText {
  return (command) => {
    if (commandPrefix !== undefined) return `${commandPrefix} ${command}`;
    const place = command === "restore --snapshot" ? ` --state-directory ${quoteShellWord(stateDirectory)}` : "";
    return `${formatOwnCommand()} ${command}${place}`;
  };
}
