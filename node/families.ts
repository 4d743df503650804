import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { findChainTraits, type ChainTraits } from "#daemon/chain-traits.ts";

/** Names and manners of the nodes of one family: all that its members share and other families don't. */
export type NodeFamily = Readonly<{
  /** Its name in the setting `node.family`. */
  name: string;
  /** File names of its programs; `process` is absent where a family has no fixed one. */
  programs: Readonly<{ tool: string; process?: string }>;
  /** Library next to the programs that has to be loaded before them, in releases that have it. */
  preload?: string;
  /** Places of the configuration file, relative to the workspace; the first one is where a new file goes. */
  configPlaces: readonly [string, ...string[]];
  /** Directory in which `ops` is run, relative to the workspace; absent: the directory of the programs. */
  opsDirectory?: string;
  /** Directory that relative paths in the configuration file are resolved against. */
  pathsFrom: "config-directory" | "bin-directory";
  /** Directory of the node inside the workspace in the layout before v0.11. */
  nodeDirectory: string;
  /** Its container image. */
  image: ImageManners;
  /** Evidence of a program's version: a release number, or the commit that it was built from. */
  versionedBy: "release" | "commit";
  /** Releases by the first digits of the commit that their programs were built from. */
  commits: Readonly<Record<string, string>>;
  /** File with the fork schedule, relative to the workspace. */
  forksPath?: string;
  /** Length of an epoch, and the time at which epoch 0 began, by chain id. */
  epochs?: Readonly<{ lengthMs: number; starts: Readonly<Record<number, number>> }>;
  /** Directory of the data that a published snapshot has and replaces, relative to the data path. */
  snapshotDirectory?: string;
  /** Limits of its nodes and its chain's way of charging for gas. */
  chain: ChainTraits;
}>;

/** Manners of a family's container image. */
export type ImageManners = Readonly<{
  /** `volume`: the programs are where they run. `entry-point`: each start removes the directory of the programs and copies the image's own there. */
  programs: "volume" | "entry-point";
  /** The configuration file as the tool is given it in the directory of the programs. */
  configArgument: string;
  /** Names of the variables that the entry point reads. */
  variables?: Readonly<{ keysPassword: string; portalPassword: string; config: string; genesis: string; keys: string }>;
  /** Finds the version in a tag that is no bare version, and the commit: its two groups. */
  tag?: RegExp;
  /** Directory of `meta_path`, relative to the workspace. */
  metaPath: string;
  /** File that genesis is made from, relative to the workspace. */
  genesisPath?: string;
  /** Directory below the data path whose presence shows that genesis has run. */
  genesisMark?: string;
  /** Open files that the node's process needs. */
  openFiles?: number;
  /** Number of an unprivileged user that it runs as; absent: only the operator knows one. */
  user?: number;
  /** Command in it that succeeds while the node's HTTP port is open. */
  healthCommand?: readonly string[];
}>;

/** Rows of {@link nodeFamilies}; the first is the one that is taken where nothing shows another. */
export type NodeFamilies = readonly [NodeFamily, ...NodeFamily[]];

/** The specification's node ("Node command line", "Node operations objects"). */
const generic: NodeFamily = {
  name: "generic",
  programs: { tool: "node_cli" },
  configPlaces: ["bin/node.conf"],
  pathsFrom: "config-directory",
  nodeDirectory: "node",
  image: { programs: "volume", configArgument: "./node.conf", metaPath: "data/meta" },
  versionedBy: "release",
  commits: {},
  chain: findChainTraits(undefined),
};

/** The public family of chain 1672, as its published tools and images behave. */
const pharos: NodeFamily = {
  name: "pharos",
  programs: { tool: "pharos_cli", process: "pharos_light" },
  preload: "libevmone.so",
  configPlaces: ["pharos.conf", "conf/pharos.conf", "bin/pharos.conf"],
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
 * Everything in which one family of nodes differs from another: names, places and manners. A further family is one more row; whatever reads
 * a name or a place of the node reads it here. What changes with a release stands in `versions.ts`.
 */
export const nodeFamilies: NodeFamilies = [generic, pharos];

/**
 * Finds a family by its name.
 *
 * @throws {Error} when no row has that name.
 */
export function findFamily(name: string, families: NodeFamilies = nodeFamilies): NodeFamily {
  const found = families.find((family) => family.name === name);
  if (found !== undefined) return found;
  throw new Error(`no family of nodes is called "${name}"; known are ${families.map((each) => each.name).join(", ")}`);
}

/**
 * Finds the family of a workspace by the programs, else by the configuration file, that are there; the first row where nothing shows one.
 *
 * @param listDirectories directories that a family's programs may be in.
 */
export function findFamilyOnDisk(
  workspace: string,
  listDirectories: (family: NodeFamily) => readonly string[],
  families: NodeFamilies = nodeFamilies,
): NodeFamily {
  const hasPrograms = (family: NodeFamily) =>
    Object.values(family.programs).some((name) =>
      listDirectories(family).some((directory) => existsSync(join(directory, name))),
    );
  const hasConfig = ({ configPlaces }: NodeFamily) => configPlaces.some((path) => existsSync(join(workspace, path)));
  return families.find(hasPrograms) ?? families.find(hasConfig) ?? families[0];
}

/** Finds the family whose configuration file has the name of a path; the first row for any other name. */
export function findFamilyOfConfig(configPath: string, families: NodeFamilies = nodeFamilies): NodeFamily {
  return families.find((family) => nameConfigFile(family) === basename(configPath)) ?? families[0];
}

/** Returns the file name of a family's configuration. */
export function nameConfigFile({ configPlaces: [place] }: NodeFamily): string {
  return basename(place);
}
