import { join } from "node:path";
import { resolveNodeLayout } from "#node/layout.ts";
import { findFamilyOfProfile, type NodeProfile } from "../node-profile.ts";

export type WorkspaceLocation = Readonly<{
  /** Absolute path. */
  directory: string;
  version: string;
  /** Name of the node's own directory; only in the layout before v0.11. */
  nodeDirectory: string;
  /** `standard` by default. */
  profile?: NodeProfile;
}>;

/** Paths of a node's files; absolute if `directory` is. */
export type Workspace = Readonly<{
  directory: string;
  /** Directory of the node's programs, such as `node_cli`. */
  binDirectory: string;
  /** Directory that contains `ops`, and in which `ops` runs. */
  opsDirectory: string;
  configPath: string;
  dataDirectory: string;
  keyDirectory: string;
  /** Directory for the running node's process id, lock, control socket and log. */
  runDirectory: string;
  parametersPath: string;
}>;

/** Locates the files of a workspace according to the layout of its node's version (specification, "Node command line"). */
export function locateWorkspace({
  directory,
  version,
  nodeDirectory,
  profile = "standard",
}: WorkspaceLocation): Workspace {
  const { name: family } = findFamilyOfProfile(profile);
  const { binDirectory, opsDirectory, configPath } = resolveNodeLayout({
    workspace: directory,
    nodeDirectory,
    version,
    family,
  });
  return {
    directory,
    binDirectory,
    opsDirectory,
    configPath,
    dataDirectory: join(directory, "data"),
    keyDirectory: join(directory, "keys"),
    runDirectory: join(directory, "run"),
    parametersPath: join(directory, "devnet.json"),
  };
}
