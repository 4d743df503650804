import { stackServices } from "../../stack-services.ts";
import type { NodeFamily } from "#node/families.ts";
import { deriveBinDirectory, type LayoutName } from "#node/versions.ts";
import type { VolumeSpec } from "../service-spec.ts";

/** Ports of the node inside its container (specification, sample `node.conf`). */
export const nodePorts = stackServices.node.ports;

/** Mount point of the node's workspace, in its own container and in its sidecar's (specification, "Node command line"). */
export const workspaceDirectory = "/data";

export const chainDataDirectory = `${workspaceDirectory}/data`;

export const keysDirectory = `${workspaceDirectory}/keys`;

/** Name of the volume that holds the node's configuration and chain data; for the devnet, its whole workspace. */
export const workspaceVolume = "node-workspace";

/** The volume for a node's container, shared with its sidecar. */
export const workspace: VolumeSpec = {
  name: workspaceVolume,
  path: workspaceDirectory,
  readOnly: false,
  retain: true,
  sizeGibibytes: 500,
};

/** A real node's chain data: the only part of its volume mounted into its own container, besides {@link confVolume}. */
export const chainDataVolume: VolumeSpec = { ...workspace, directory: "data", path: chainDataDirectory };

/**
 * A real node's node.conf, in its own directory. If it were stored with the image's programs, an upgrade would lose it, or it would prevent
 * the programs' upgrade. A file that is mounted by itself can't be replaced by a rename.
 */
export const confVolume: VolumeSpec = { ...workspace, directory: "conf", path: `${workspaceDirectory}/conf` };

/**
 * Returns the location of a real node's configuration file: the path of its family if the image's entry point copies the programs to the
 * workspace, otherwise {@link confVolume}, with a link in the node's working directory.
 */
export function locateConf({ image, configPaths: [place] }: NodeFamily): string {
  return image.programs === "entry-point" ? `${workspaceDirectory}/${place}` : `${confVolume.path}/node.conf`;
}

/** Returns the directory that contains the node's programs in a given layout (specification, "Versioning", 1). */
export function deriveProgramDirectory(layout: LayoutName, nodeDirectory: string): string {
  return `${workspaceDirectory}/${deriveBinDirectory(layout, nodeDirectory)}`;
}
