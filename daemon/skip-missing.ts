/** Returns undefined for a missing file's error, and rethrows any other: `await readFile(path).catch(skipMissing)`. */
export function skipMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
