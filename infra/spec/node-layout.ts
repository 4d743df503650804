import type { VolumeSpec } from "./service-spec.ts";

/** Where the node listens inside its container (specification, sample of `node.conf`). */
export const nodePorts = { http: 18_100, webSocket: 18_200, rpc: 20_000, peers: 19_000 } as const;

/** Where the node's workspace is mounted, in its own container and in its sidecar's (specification, "Node command line"). */
export const workspaceDirectory = "/data";

/** Where the node keeps its chain data. */
export const chainDataDirectory = `${workspaceDirectory}/data`;

/** The volume that holds the workspace: configuration, command-line tool and chain data. */
export const workspaceVolume = "node-workspace";

/** How long the node may take to stop; killing it earlier can damage its chain data. */
export const nodeStopGraceSeconds = 300;

/** The volume of a node's container, shared with its sidecar. */
export const workspace: VolumeSpec = {
  name: workspaceVolume,
  path: workspaceDirectory,
  readOnly: false,
  keep: true,
  sizeGibibytes: 500,
};
