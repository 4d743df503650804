/** Returns undefined for the error of a file that does not exist, and throws any other: `await readFile(path).catch(skipMissing)`. */
export function skipMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
