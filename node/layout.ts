import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { StartupError } from "#daemon/startup-error.ts";
import { hasNewLayout, parseNodeVersion, type NodeVersion } from "./versions.ts";

/** Where the parts of a node stand in the file system (absolute paths). */
export type NodeLayout = Readonly<{
  /** `bin` of v0.11 and later, or the client's bin directory of before. */
  kind: "new" | "legacy";
  binDirectory: string;
  configPath: string;
}>;

/** What is set about the node's place. */
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
export function resolveNodeLayout(settings: NodeLayoutSettings, version?: NodeVersion): NodeLayout {
  const { workspace, configPath } = settings;
  if (workspace === undefined && configPath === undefined) {
    throw new StartupError(
      "no node to look after: set node.workspace (GATEHOUSE_SIDECAR_NODE_WORKSPACE) to the node's workspace directory, " +
        "or node.configPath (GATEHOUSE_SIDECAR_NODE_CONFIG_PATH) to its node.conf.",
    );
  }
  const known = version ?? (settings.version === undefined ? undefined : parseNodeVersion(settings.version));
  const root = resolve(workspace ?? join(configPath ?? ".", ".."));
  const legacyBin = join(root, settings.nodeDirectory, "domain", "client", "bin");
  const kind = known === undefined ? kindOnDisk(legacyBin) : hasNewLayout(known) ? "new" : "legacy";
  const standard = workspace === undefined ? root : kind === "new" ? join(root, "bin") : legacyBin;
  const binDirectory = resolve(settings.binDirectory ?? standard);
  return { kind, binDirectory, configPath: resolve(configPath ?? join(binDirectory, "node.conf")) };
}

function kindOnDisk(legacyBin: string): NodeLayout["kind"] {
  return existsSync(legacyBin) ? "legacy" : "new";
}
