import { formatArgument, type NodeLayout } from "#node/layout.ts";
import type { SidecarSettings } from "../../settings.ts";

/** Working directory for `ops`, and the command that starts the node there. */
export type OpsLocation = Readonly<{ directory: string; start: readonly string[] }>;

/** Determines how to run `ops`, from the settings or else from the node's family (specification, "Node command line"). */
export function findOpsLocation({ ops }: Pick<SidecarSettings, "ops">, layout: NodeLayout): OpsLocation {
  const directory = ops.directory ?? layout.opsDirectory;
  return {
    directory,
    start: ops.start ?? ["./ops", "start", "--config", formatArgument(layout.configPath, directory)],
  };
}
