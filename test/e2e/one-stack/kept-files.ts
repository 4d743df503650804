import { readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";

type KeptFiles = ReadonlyMap<string, string>;

export function readStoredFiles(stateDirectory: string): KeptFiles {
  const entries = readdirSync(stateDirectory, { recursive: true, withFileTypes: true });
  const kept = entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [relative(stateDirectory, path), (statSync(path).mode & 0o777).toString(8)] as const;
  });
  return new Map(kept.filter(([path]) => !isNodes(path)));
}

/** Returns whether a path is a running devnet node's private file; the lock next to node.conf is the sidecar's. */
function isNodes(path: string): boolean {
  return path === "node" || (path.startsWith("node/") && !path.startsWith("node/bin/.node.conf.lock"));
}
