import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export function findProgram(name: string): string | undefined {
  const directories = (process.env["PATH"] ?? "").split(delimiter);
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // The reason why one can't be run doesn't matter when searching for one that can.
    return false;
  }
}
