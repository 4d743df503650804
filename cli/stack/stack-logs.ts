import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { locateStateDirectory } from "./state-directory.ts";

/** The log files of a stack's services, by its folder; none where it has written none. */
export async function readStackLogs(folder: string): Promise<readonly string[]> {
  const { logs } = locateStateDirectory(folder);
  try {
    const names = await readdir(logs);
    return names.filter((name) => name.endsWith(".log")).map((name) => join(logs, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
