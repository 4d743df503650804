import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { findChainTraits, type ChainTraits } from "#daemon/chain-traits.ts";

/** Names and behaviour of one node family: everything that its members share and that differs from other families. */
export type NodeFamily = Readonly<{
  /** Value in the setting `node.family`. */
  name: string;
  /** File names of the family's programs; `process` is absent for a family without a fixed one. */
  programs: Readonly<{ tool: string; process?: string }>;
  /** Library in the binaries directory to preload, for releases that include one. */
  preload?: string;
  /** Possible paths of the configuration file, relative to the workspace. A new file is created at the first one. */
  configPaths: readonly [string, ...string[]];
  /** Working directory for `ops`, relative to the workspace; if absent, the directory that contains the programs. */
  opsDirectory?: string;
  pathsFrom: "config-directory" | "bin-directory";
  /** The node's directory inside the workspace, in the layout before v0.11. */
  nodeDirectory: string;
  image: ImageBehaviour;
  /** What identifies a program's version: a release number, or the commit it was built from. */
  versionedBy: "release" | "commit";
  /** Releases, keyed by the abbreviated hash of the commit they were built from. */
  commits: Readonly<Record<string, string>>;
  /** File that contains the fork schedule, relative to the workspace. */
  forksPath?: string;
  epochs?: Readonly<{ lengthMs: number; starts: Readonly<Record<number, number>> }>;
  /** Data directory that a published snapshot contains and replaces, relative to the data path. */
  snapshotDirectory?: string;
  chain: ChainTraits;
}>;

export type ImageBehaviour = Readonly<{
  /** `volume`: the programs run in place. `entry-point`: each start replaces the programs' directory with a copy of the one in the image. */
  programs: "volume" | "entry-point";
  /** Configuration file argument for the tool when it runs in the programs' directory. */
  configArgument: string;
  variables?: Readonly<{ keysPassword: string; portalPassword: string; config: string; genesis: string; keys: string }>;
  /** Captures the version and commit as two groups, in a tag that contains more than a version. */
  tag?: RegExp;
  /** Directory that `meta_path` refers to, relative to the workspace. */
  metaPath: string;
  genesisPath?: string;
  /** Directory under the data path that exists once genesis has run. */
  genesisMark?: string;
  /** Open file limit that the node's process needs. */
  openFiles?: number;
  /** Id of the unprivileged user that the node runs as; if absent, only the operator knows it. */
  user?: number;
  /** Command in the image that succeeds while the node's HTTP port is open. */
  healthCommand?: readonly string[];
}>;

/** The node described in the specification ("Node command line", "Node operations objects"). */
const generic: NodeFamily = {
  name: "generic",
  programs: { tool: "node_cli" },
  configPaths: ["bin/node.conf"],
  pathsFrom: "config-directory",
  nodeDirectory: "node",
  image: { programs: "volume", configArgument: "./node.conf", metaPath: "data/meta" },
  versionedBy: "release",
  commits: {},
  chain: findChainTraits(undefined),
};

/** The public node family of chain 1672, modelled on its published tools and images. */
const pharos: NodeFamily = {
  name: "pharos",
  programs: { tool: "pharos_cli", process: "pharos_light" },
  preload: "libevmone.so",
  configPaths: ["pharos.conf", "conf/pharos.conf", "bin/pharos.conf"],
  opsDirectory: ".",
  pathsFrom: "bin-directory",
  nodeDirectory: "pharos-node",
  image: {
    programs: "entry-point",
    configArgument: "../pharos.conf",
    variables: {
      keysPassword: "CONSENSUS_KEY_PWD",
      portalPassword: "PORTAL_SSL_PWD",
      config: "PHAROS_CONF",
      genesis: "GENESIS_CONF",
      keys: "KEYS_DIR",
    },
    tag: /(?:^|[_-])v(\d+\.\d+\.\d+)_([0-9a-f]{7,40})(?:[_-]|$)/,
    metaPath: "data",
    genesisPath: "genesis.conf",
    genesisMark: "meta_store",
    openFiles: 10_000_000,
    user: 1_000,
    healthCommand: ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"],
  },
  versionedBy: "commit",
  commits: { f301031a: "0.12.2", b5f7821d: "0.14.1" },
  forksPath: "bin/VERSION",
  epochs: { lengthMs: 14_400_000, starts: { 1672: 1_765_529_308_244 } },
  snapshotDirectory: "public",
  chain: findChainTraits(1672),
};

/**
 * All differences between node families: names, paths and behaviour; the first row is the default. To add a family, add a row; all code
 * takes the node's names and paths from this table. Differences between releases are in `versions.ts`.
 */
export const nodeFamilies: readonly [NodeFamily, ...NodeFamily[]] = [generic, pharos];

export function findFamily(name: string): NodeFamily {
  const found = nodeFamilies.find((family) => family.name === name);
  if (found !== undefined) return found;
  throw new Error(`unknown node family "${name}"; known: ${nodeFamilies.map((each) => each.name).join(", ")}`);
}

/** Detects the family from its programs, or else from its configuration file. */
export function findFamilyOnDisk(
  workspace: string,
  listDirectories: (family: NodeFamily) => readonly string[],
  preferred: NodeFamily,
): NodeFamily {
  const hasPrograms = (family: NodeFamily) =>
    Object.values(family.programs).some((name) =>
      listDirectories(family).some((directory) => existsSync(join(directory, name))),
    );
  const hasConfig = ({ configPaths }: NodeFamily) => configPaths.some((path) => existsSync(join(workspace, path)));
  const families = [preferred, ...nodeFamilies];
  return families.find(hasPrograms) ?? families.find(hasConfig) ?? preferred;
}

/** Finds the family whose configuration file has the same name as the given path. Defaults to `preferred`. */
export function findFamilyOfConfig(configPath: string, preferred: NodeFamily): NodeFamily {
  const families = [preferred, ...nodeFamilies];
  return families.find((family) => nameConfigFile(family) === basename(configPath)) ?? preferred;
}

export function nameConfigFile({ configPaths: [place] }: NodeFamily): string {
  return basename(place);
}
