import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { findDataPath } from "#node/conf/node-values.ts";
import { resolveNodeLayout, type NodeLayout } from "#node/layout.ts";
import { nodeReleases, parseNodeVersion } from "#node/versions.ts";

/** A node's host: a machine, identified by its host name, or a container or pod, identified by its name. */
export type NodeHost = Readonly<{ kind: "machine" | "container" | "pod"; name: string }>;

export type NodeIdentity = Readonly<{
  configPath: string;
  /** Absolute path of node.conf as configured. A link to the current release keeps its path when it is redirected. */
  namedPath: string;
  /** Path of the node's data; absent until node.conf has been readable for the first time. */
  dataPath?: string | undefined;
  chainId: number;
  /** The chain id that the node reported; the expected one may be a wrong setting that is later corrected. */
  answeredChainId?: number | undefined;
  host: NodeHost;
}>;

export type ConfigLocation = Pick<NodeLayout, "configPath" | "pathsDirectory">;

export type IdentitySettings = Pick<SidecarSettings, "node" | "restart" | "docker" | "kubernetes">;

/** Without `realPath`, reads it from the file system, which blocks the process if that hangs: only before the upkeep starts. */
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

export function listLayoutPaths(node: IdentitySettings["node"]): readonly string[] {
  const paths = nodeReleases.map(({ since }) => resolveNodeLayout(node, parseNodeVersion(since)).configPath);
  return [...new Set(paths.map(resolveRealPath))];
}

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
