import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import type { SidecarSettings } from "../settings.ts";

export const controlVerbs = ["resume", "adopt", "restart"] as const;

type ControlVerb = (typeof controlVerbs)[number];

export type CommandText = (command: ControlVerb) => string;

/** Commands start with the deployment's prefix or this program; they find the machine's only sidecar, or print how to select one. */
export function createCommandText({ commandPrefix }: Pick<SidecarSettings["upkeep"], "commandPrefix">): CommandText {
  return (command) => `${commandPrefix ?? formatOwnCommand()} ${command}`;
}
