import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Finds the path of a program on PATH; undefined if it is not there. */
export function findProgram(name: string): string | undefined {
  const directories = (process.env["PATH"] ?? "").split(delimiter);
  return directories.map((directory) => join(directory, name)).find(isExecutable);
}

/** Whether a file is there and this process may run it. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Why it can't be run does not matter to who looks for one that can.
    return false;
  }
}
