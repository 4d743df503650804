import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { findDataPath } from "#node/conf/data-path.ts";
import { resolveNodeLayout, type NodeLayout } from "#node/layout.ts";
import { nodeReleases, parseNodeVersion } from "#node/versions.ts";

/** A node's host: a machine, identified by its host name, or a container or pod, identified by its name. */
export type NodeHost = Readonly<{ kind: "machine" | "container" | "pod"; name: string }>;

/** Identity of the node that a sidecar manages and stores state for. */
export type NodeIdentity = Readonly<{
  /** Real path of node.conf, with links resolved. */
  configPath: string;
  /** Absolute path of node.conf as configured. A link to the current release keeps its path when it is redirected. */
  namedPath: string;
  /** Absent until node.conf has been readable for the first time. */
  dataPath?: string | undefined;
  /** The chain id that the node is expected to have. */
  chainId: number;
  /** The chain id that the node reported; the expected one may be a wrong setting that is later corrected. */
  answeredChainId?: number | undefined;
  host: NodeHost;
}>;

/** Path of node.conf, and the base directory for relative paths in it. */
export type ConfigLocation = Pick<NodeLayout, "configPath" | "pathsDirectory">;

/** Settings that identify a node. */
export type IdentitySettings = Pick<SidecarSettings, "node" | "restart" | "docker" | "kubernetes">;

/**
 * Identifies the node for which a sidecar is configured. Without `realPath`, reads the path from the file system. A hung file system then
 * blocks this process, so omit `realPath` only before the upkeep starts.
 */
export function identifyNode(
  settings: IdentitySettings,
  { configPath, pathsDirectory }: ConfigLocation,
  document: ConfigDocument | undefined,
  realPath = resolveRealPath(configPath),
): NodeIdentity {
  const { node } = settings;
  return {
    configPath: realPath,
    namedPath: resolve(configPath),
    // node.dataPath isn't used, because it only specifies the disk to watch.
    dataPath: document === undefined ? undefined : findDataPath(undefined, pathsDirectory, document.value),
    chainId: node.chainId,
    host: identifyHost(settings),
  };
}

/** Lists the paths of node.conf in a workspace, one for each layout. */
export function listLayoutPaths(node: IdentitySettings["node"]): readonly string[] {
  return [...new Set(listLayouts(node).map(({ configPath }) => resolveRealPath(configPath)))];
}

/** Lists the base directories for relative paths in node.conf in a workspace, one for each layout. */
export function listPathsDirectories(node: IdentitySettings["node"]): readonly string[] {
  return [...new Set(listLayouts(node).map(({ pathsDirectory }) => resolveRealPath(pathsDirectory)))];
}

function listLayouts(node: IdentitySettings["node"]): readonly NodeLayout[] {
  return nodeReleases.map(({ since }) => resolveNodeLayout(node, parseNodeVersion(since)));
}

/** Formats a node's identity for an operator who runs several nodes. */
export function formatIdentity({ configPath, dataPath, chainId, host }: NodeIdentity): string {
  return `${configPath} (data ${dataPath ?? "unknown"}, chain ${chainId}, ${host.kind} ${host.name})`;
}

function identifyHost({ restart, docker, kubernetes }: IdentitySettings): NodeHost {
  if (restart.driver === "kubernetes" && kubernetes.pod !== undefined) return { kind: "pod", name: kubernetes.pod };
  if (restart.driver === "docker" && docker.container !== undefined) {
    return { kind: "container", name: docker.container };
  }
  return { kind: "machine", name: hostname() };
}

function resolveRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A missing file has only the path that it will have.
    return resolve(path);
  }
}
