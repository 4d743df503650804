import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { StartupError } from "#daemon/process/startup-error.ts";
import {
  deriveBinDirectory,
  nodeReleases,
  parseNodeVersion,
  findRelease,
  type LayoutName,
  type NodeRelease,
  type NodeReleases,
  type NodeVersion,
} from "./versions.ts";

/** Absolute paths of a node's parts. */
export type NodeLayout = Readonly<{
  kind: LayoutName;
  /** Whether `node_cli prune` takes `--c <config_path>` there. */
  nodeCliTakesConfig: boolean;
  binDirectory: string;
  configPath: string;
}>;

/** Settings of the node's place. */
export type NodeLayoutSettings = Readonly<{
  workspace?: string | undefined;
  nodeDirectory: string;
  binDirectory?: string | undefined;
  configPath?: string | undefined;
  version?: string | undefined;
}>;

/**
 * Finds the node's bin directory and configuration file: from the settings, else by the version's layout, else by which layout
 * is there (specification, "Versioning", 1).
 *
 * @throws {StartupError} when neither a workspace nor a configuration file is set.
 */
export function resolveNodeLayout(
  settings: NodeLayoutSettings,
  version?: NodeVersion,
  releases: NodeReleases = nodeReleases,
): NodeLayout {
  const { workspace, configPath } = settings;
  if (workspace === undefined && configPath === undefined) {
    throw new StartupError(
      "no node to look after: set node.workspace (GATEHOUSE_SIDECAR_NODE_WORKSPACE) to the node's workspace directory, " +
        "or node.configPath (GATEHOUSE_SIDECAR_NODE_CONFIG_PATH) to its node.conf.",
    );
  }
  const known = version ?? (settings.version === undefined ? undefined : parseNodeVersion(settings.version));
  const root = resolve(workspace ?? join(configPath ?? ".", ".."));
  const locateBin = (layout: LayoutName) => join(root, deriveBinDirectory(layout, settings.nodeDirectory));
  const { layout, nodeCliTakesConfig } =
    known === undefined ? findReleaseOnDisk(locateBin, releases) : findRelease(known, releases);
  const standard = workspace === undefined ? root : locateBin(layout);
  const binDirectory = resolve(settings.binDirectory ?? standard);
  return {
    kind: layout,
    nodeCliTakesConfig,
    binDirectory,
    configPath: resolve(configPath ?? join(binDirectory, "node.conf")),
  };
}

/** Returns the newest release of an older layout that is there, else the newest of all. */
function findReleaseOnDisk(locateBin: (layout: LayoutName) => string, releases: NodeReleases): NodeRelease {
  const newest = releases.at(-1) ?? releases[0];
  return releases.findLast(({ layout }) => layout !== newest.layout && existsSync(locateBin(layout))) ?? newest;
}
