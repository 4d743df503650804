import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { StartupError } from "#daemon/process/startup-error.ts";
import { nodeFamilies } from "#node/families.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import type { SidecarSettings } from "../../settings.ts";

/**
 * Rejects a `node.workspace` that is itself the directory of the node's programs: the sidecar would search it in vain for such a directory,
 * and store its state there.
 *
 * @throws {StartupError} that specifies the workspace to set.
 */
export function requireWorkspace({ node, nodeCli }: Pick<SidecarSettings, "node" | "nodeCli">): void {
  const { workspace, binDirectory, configPath } = node;
  if (workspace === undefined || binDirectory !== undefined || configPath !== undefined) return;
  const root = resolve(workspace);
  const has = (path: string) => existsSync(join(root, basename(path)));
  const tools = nodeCli.command === undefined ? nodeFamilies.map(({ programs }) => programs.tool) : [nodeCli.command];
  const hasConfig = nodeFamilies.some(({ configPlaces }) => configPlaces.some(has));
  if (!tools.some(has) && !(basename(root) === "bin" && hasConfig)) return;
  if (existsSync(resolveNodeLayout(node).binDirectory)) return;
  const parents = listParents(root).filter((parent) => isBinOf(root, { ...node, workspace: parent }));
  const meant = parents.at(-1);
  const remedy =
    meant === undefined
      ? `GATEHOUSE_SIDECAR_NODE_BIN_DIRECTORY=${root}, and node.workspace to its parent, ${dirname(root)}`
      : `GATEHOUSE_SIDECAR_NODE_WORKSPACE=${meant}`;
  throw new StartupError(
    `node.workspace is ${root}, the directory with the node's binaries; expected its parent: set ${remedy}.`,
  );
}

function isBinOf(directory: string, node: SidecarSettings["node"]): boolean {
  return resolveNodeLayout(node).binDirectory === directory;
}

/** Lists the parent directories of a directory, nearest first. */
function listParents(directory: string): readonly string[] {
  const parent = dirname(directory);
  return parent === directory ? [] : [parent, ...listParents(parent)];
}
