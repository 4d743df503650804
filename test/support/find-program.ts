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
    // The reason why this candidate can't be run does not matter.
    return false;
  }
}
