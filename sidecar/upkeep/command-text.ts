import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import type { SidecarSettings } from "../settings.ts";

/** Commands that change a running sidecar. */
export const controlVerbs = ["resume", "adopt"] as const;

type ControlVerb = (typeof controlVerbs)[number];

/** Formats the exact command line for this deployment. */
export type CommandText = (command: ControlVerb) => string;

/**
 * Creates the command formatter. Commands start with the deployment's prefix or, if there is none, with this program. If only one sidecar
 * runs on this machine, they find it; if there are several, the command prints how to select each.
 */
export function createCommandText({ commandPrefix }: Pick<SidecarSettings["upkeep"], "commandPrefix">): CommandText {
  return (command) => `${commandPrefix ?? formatOwnCommand()} ${command}`;
}
