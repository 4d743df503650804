import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Finds an executable file by its name in the directories of `path`, as a shell does; nothing when there is none. */
export function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((directory) => directory !== "")
    .map((directory) => join(directory, name))
    .find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there, or not ours to run: the search goes on.
    return false;
  }
}
