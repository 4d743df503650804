import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { StartupError } from "#daemon/process/startup-error.ts";
import { findFamilyOnDisk, findFamily, findFamilyOfConfig, nodeFamilies, type NodeFamily } from "./families.ts";
import {
  deriveBinDirectory,
  nodeReleases,
  parseNodeVersion,
  findRelease,
  type LayoutName,
  type NodeRelease,
  type NodeVersion,
} from "./versions.ts";

export type NodeLayout = Readonly<{
  kind: LayoutName;
  family: NodeFamily;
  /** Whether the node's `node_cli prune` takes `--c <config_path>`. */
  nodeCliTakesConfig: boolean;
  binDirectory: string;
  opsDirectory: string;
  configPath: string;
  /** Base directory for relative paths in the configuration file. */
  pathsDirectory: string;
}>;

export type NodeLayoutSettings = Readonly<{
  workspace?: string | undefined;
  family?: string | undefined;
  nodeDirectory?: string | undefined;
  binDirectory?: string | undefined;
  configPath?: string | undefined;
  version?: string | undefined;
}>;

/** Settings take precedence over the files on disk, and those over `preferred` (specification, "Versioning", 1). */
export function resolveNodeLayout(
  settings: NodeLayoutSettings,
  version?: NodeVersion,
  preferred: NodeFamily = nodeFamilies[0],
): NodeLayout {
  const { workspace, configPath, nodeDirectory } = settings;
  const named = settings.family === undefined ? undefined : findFamily(settings.family);
  const { root, bin } = workspace === undefined ? locateByConfig(configPath, named, preferred) : { root: workspace };
  const set = settings.binDirectory ?? bin;
  const locateStandard = (layout: LayoutName, family: NodeFamily) =>
    resolve(root, deriveBinDirectory(layout, nodeDirectory ?? family.nodeDirectory));
  const locateBin = (layout: LayoutName, family: NodeFamily) =>
    set === undefined ? locateStandard(layout, family) : resolve(set);
  const listBins = (family: NodeFamily) => nodeReleases.map(({ layout }) => locateBin(layout, family));
  const family = named ?? findFamilyOnDisk(root, listBins, preferred);
  const known = version ?? (settings.version === undefined ? undefined : parseNodeVersion(settings.version));
  const { layout, nodeCliTakesConfig } =
    known === undefined ? findReleaseOnDisk((kind) => locateStandard(kind, family)) : findRelease(known);
  const binDirectory = locateBin(layout, family);
  const found = resolve(configPath ?? findConfig(root, binDirectory, family));
  return {
    kind: layout,
    family,
    nodeCliTakesConfig,
    binDirectory,
    opsDirectory: family.opsDirectory === undefined ? binDirectory : resolve(root, family.opsDirectory),
    configPath: found,
    pathsDirectory: family.pathsFrom === "bin-directory" ? binDirectory : dirname(found),
  };
}

/** Finds the base directory for relative paths in a configuration file when only the file is known. */
export function findPathsDirectory(configPath: string): string {
  return resolveNodeLayout({ configPath }).pathsDirectory;
}

/** Formats a path as an argument for a program that runs in a directory. The path is relative if it is inside the directory. */
export function formatArgument(path: string, directory: string): string {
  const inside = relative(directory, path);
  return inside.startsWith("..") || isAbsolute(inside) ? path : `.${sep}${inside}`;
}

/** Finds the workspace that a configuration file belongs to. The file's directory also contains the programs, unless the family keeps the file elsewhere. */
function locateByConfig(
  configPath: string | undefined,
  named: NodeFamily | undefined,
  preferred: NodeFamily,
): Readonly<{ root: string; bin?: string }> {
  if (configPath === undefined) {
    throw new StartupError(
      "no node configured: set node.workspace (GATEHOUSE_SIDECAR_NODE_WORKSPACE) to the node's workspace directory, " +
        "or node.configPath (GATEHOUSE_SIDECAR_NODE_CONFIG_PATH) to its node.conf.",
    );
  }
  const path = resolve(configPath);
  const { configPaths } = named ?? findFamilyOfConfig(path, preferred);
  const places = configPaths.filter((location) => path.endsWith(sep + location));
  const location = places.find((each) => each.includes("/")) ?? places[0];
  if (location === undefined) return { root: dirname(path), bin: dirname(path) };
  const root = path.slice(0, -location.length - 1);
  return location.startsWith("bin/") ? { root, bin: dirname(path) } : { root };
}

/** Returns the existing configuration file, or else the first of the family's paths for one. A path in `bin` refers to the programs' directory. */
function findConfig(root: string, binDirectory: string, { configPaths: [first, ...others] }: NodeFamily): string {
  const locate = (location: string) =>
    location.startsWith("bin/") ? join(binDirectory, basename(location)) : join(root, location);
  // A single path needs no file system query, which may hang.
  const found = others.length === 0 ? undefined : [first, ...others].map(locate).find((path) => existsSync(path));
  return found ?? locate(first);
}

/** Returns the newest release whose older layout is found on disk, or else the newest release of all. */
function findReleaseOnDisk(locateBin: (layout: LayoutName) => string): NodeRelease {
  const newest = nodeReleases.at(-1) ?? nodeReleases[0];
  return nodeReleases.findLast(({ layout }) => layout !== newest.layout && existsSync(locateBin(layout))) ?? newest;
}
