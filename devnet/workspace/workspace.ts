import { join } from "node:path";
import { deriveBinDirectory, nodeReleases, findReleaseOfText, type NodeReleases } from "#node/versions.ts";

/** Options of a workspace's layout. */
export type WorkspacePlace = Readonly<{
  /** Absolute path. */
  directory: string;
  version: string;
  /** Name of the node's own directory, in the layout before v0.11 only. */
  nodeDirectory: string;
}>;

/** Paths of a node's files; absolute if `directory` is. */
export type Workspace = Readonly<{
  directory: string;
  /** Holds `node_cli`, `ops` and `node.conf`. */
  binDirectory: string;
  configPath: string;
  dataDirectory: string;
  keyDirectory: string;
  /** Holds the running process's id, lock, control socket and log. */
  runDirectory: string;
  parametersPath: string;
}>;

/** Locates the files of a workspace by the layout of its node's version (specification, "Node command line"). */
export function locateWorkspace(
  { directory, version, nodeDirectory }: WorkspacePlace,
  releases: NodeReleases = nodeReleases,
): Workspace {
  const { layout } = findReleaseOfText(version, releases);
  const binDirectory = join(directory, deriveBinDirectory(layout, nodeDirectory));
  return {
    directory,
    binDirectory,
    configPath: join(binDirectory, "node.conf"),
    dataDirectory: join(directory, "data"),
    keyDirectory: join(directory, "keys"),
    runDirectory: join(directory, "run"),
    parametersPath: join(directory, "devnet.json"),
  };
}
