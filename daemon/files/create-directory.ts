import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a directory and its missing parents, readable by its owner only. Unlike Node's `recursive: true`, which loops forever there, it
 * fails in file systems where nothing can be created, such as `/proc`.
 *
 * @throws the file system's own error (`ENOENT`, `EACCES`, …).
 */
export function createDirectory(path: string, mode = 0o700): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    createDirectory(dirname(path), mode);
    createDirectory(path, mode);
  }
}
