import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
// As a whole: the first releases of Node 24 have no `getAssetKeys`, and no executable is made of them.
import * as sea from "node:sea";

const root = join(import.meta.dirname, "../..");

/** Folders whose files are read while Gatehouse runs; the single executable has them in itself, under these paths. */
export const programFolders = ["docs/runbooks", "sidecar/overview/assets", "status/page/assets"] as const;

/** One of them. */
export type ProgramFolder = (typeof programFolders)[number];

/** Lists the files of a folder that comes with Gatehouse, by name; empty if a copy lacks the folder. */
export function listProgramFiles(folder: ProgramFolder): readonly string[] {
  if (sea.isSea()) {
    const paths = sea.getAssetKeys().filter((path) => dirname(path) === folder);
    return paths.map((path) => basename(path));
  }
  const directory = join(root, folder);
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** Reads a text file of such a folder: next to the code, or out of the single executable. */
export function readProgramFile(folder: ProgramFolder, name: string): string {
  return sea.isSea() ? sea.getAsset(`${folder}/${name}`, "utf8") : readFileSync(join(root, folder, name), "utf8");
}
