import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { findDataPath } from "#node/conf/data-path.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { nodeReleases, parseNodeVersion } from "#node/versions.ts";

/** Where a node runs: a machine by its host name, a container by its name, a pod by its name. */
export type NodeHost = Readonly<{ kind: "machine" | "container" | "pod"; name: string }>;

/** Which node a sidecar looks after, and so whose its state is. */
export type NodeIdentity = Readonly<{
  /** Real path of node.conf: links are followed. */
  configPath: string;
  /** Its path as it was set, absolute: a link to the current release keeps its name when it points elsewhere. */
  namedPath: string;
  /** Absent until node.conf could be read once. */
  dataPath?: string | undefined;
  /** Chain id that the node has to answer. */
  chainId: number;
  /** What it has answered: a setting that was wrong may be corrected. */
  answeredChainId?: number | undefined;
  host: NodeHost;
}>;

/** What of the settings says which node is meant. */
export type IdentitySettings = Pick<SidecarSettings, "node" | "restart" | "docker" | "kubernetes">;

/**
 * Identifies the node that a sidecar is pointed at. Without `realPath` it is read from the file system, and a file system that hangs keeps this process:
 * only for what is done before the upkeep begins.
 */
export function identifyNode(
  settings: IdentitySettings,
  configPath: string,
  document: ConfigDocument | undefined,
  realPath = realPathOf(configPath),
): NodeIdentity {
  const { node } = settings;
  return {
    configPath: realPath,
    namedPath: resolve(configPath),
    // Not node.dataPath, which only says whose disk is watched.
    dataPath: document === undefined ? undefined : findDataPath(undefined, configPath, document.value),
    chainId: node.chainId,
    host: hostOf(settings),
  };
}

/** Where node.conf is in each layout of a workspace. */
export function listLayoutPaths(node: IdentitySettings["node"]): readonly string[] {
  const paths = nodeReleases.map(({ since }) => resolveNodeLayout(node, parseNodeVersion(since)).configPath);
  return [...new Set(paths.map(realPathOf))];
}

/** A node in words, for a person who has two of them. */
export function formatIdentity({ configPath, dataPath, chainId, host }: NodeIdentity): string {
  return `${configPath} (data ${dataPath ?? "not known"}, chain ${chainId}, ${host.kind} ${host.name})`;
}

function hostOf({ restart, docker, kubernetes }: IdentitySettings): NodeHost {
  if (restart.driver === "kubernetes" && kubernetes.pod !== undefined) return { kind: "pod", name: kubernetes.pod };
  if (restart.driver === "docker" && docker.container !== undefined) {
    return { kind: "container", name: docker.container };
  }
  return { kind: "machine", name: hostname() };
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A file that is not there yet has no other path than the one it is to have.
    return resolve(path);
  }
}
