import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
// Namespace import: the first releases of Node 24 lack `getAssetKeys`, but no single executable is built from those releases.
import * as sea from "node:sea";

const root = join(import.meta.dirname, "../..");

/** Folders whose files are read at runtime; the single executable embeds them under these paths. */
export const programFolders = [
  "docs/runbooks",
  "infra/observability/dashboards",
  "infra/observability/rules",
  "sidecar/overview/assets",
  "status/page/assets",
] as const;

export type ProgramFolder = (typeof programFolders)[number];

/** Lists the file names in a bundled folder; empty if an installation lacks the folder. */
export function listProgramFiles(folder: ProgramFolder): readonly string[] {
  if (sea.isSea()) {
    const paths = sea.getAssetKeys().filter((path) => dirname(path) === folder);
    return paths.map((path) => basename(path));
  }
  const directory = join(root, folder);
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Reads a text file from a bundled folder: next to the code, or embedded in the single executable. */
export function readProgramFile(folder: ProgramFolder, name: string): string {
  return sea.isSea() ? sea.getAsset(`${folder}/${name}`, "utf8") : readFileSync(join(root, folder, name), "utf8");
}
