import { formatShellWords, quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { type NodeLayout, formatArgument } from "#node/layout.ts";
import type { SidecarSettings } from "../../settings.ts";

export type OpsLocation = Readonly<{ directory: string; start: readonly string[] }>;

/** Formats the command with which an operator restarts the node; undefined with other drivers, which have their own tools. */
export function formatRestartCommand(
  settings: Pick<SidecarSettings, "ops" | "node" | "restart">,
  layout: NodeLayout,
): string | undefined {
  if (settings.restart.driver !== "ops") return undefined;
  const { directory, start } = findOpsLocation(settings, layout);
  return `cd ${quoteShellWord(directory)} && ${formatShellWords(settings.ops.stop)}; ${formatShellWords(start)}`;
}

/** Determines how to run `ops`, from the settings or else from the node's family (specification, "Node command line"). */
export function findOpsLocation(
  { ops, node }: Pick<SidecarSettings, "ops" | "node">,
  layout: NodeLayout,
): OpsLocation & Readonly<{ /** What determines the directory, for messages. */ setting: string }> {
  const directory = ops.directory ?? layout.opsDirectory;
  const isBin = directory === layout.binDirectory;
  const defaultSetting = isBin && layout.kind === "client-bin" ? "node.nodeDirectory" : "node.workspace";
  const derivedSetting = isBin && node.binDirectory !== undefined ? "node.binDirectory" : defaultSetting;
  return {
    directory,
    setting: ops.directory === undefined ? derivedSetting : "ops.directory",
    start: ops.start ?? ["./ops", "start", "--config", formatArgument(layout.configPath, directory)],
  };
}
