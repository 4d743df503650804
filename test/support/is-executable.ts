import { accessSync, constants } from "node:fs";

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
