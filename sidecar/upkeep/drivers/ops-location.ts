import { formatShellWords, quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { type NodeLayout, formatArgument } from "#node/layout.ts";
import type { SidecarSettings } from "../../settings.ts";

export type OpsLocation = Readonly<{ directory: string; start: readonly string[] }>;

/** Formats the command with which an operator restarts the node; undefined with another driver, whose tool does it. */
export function formatOpsRestart(
  settings: Pick<SidecarSettings, "ops" | "restart">,
  layout: NodeLayout,
): string | undefined {
  if (settings.restart.driver !== "ops") return undefined;
  const { directory, start } = findOpsLocation(settings, layout);
  return `cd ${quoteShellWord(directory)} && ${formatShellWords(settings.ops.stop)}; ${formatShellWords(start)}`;
}

/** Determines how to run `ops`, from the settings or else from the node's family (specification, "Node command line"). */
export function findOpsLocation({ ops }: Pick<SidecarSettings, "ops">, layout: NodeLayout): OpsLocation {
  const directory = ops.directory ?? layout.opsDirectory;
  return {
    directory,
    start: ops.start ?? ["./ops", "start", "--config", formatArgument(layout.configPath, directory)],
  };
}
