import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Locates the file of a program started by path: TypeScript in the repository, its compiled form in the package.
 *
 * @param path import specifier, ending in `.ts`.
 * @param from the `import.meta.url` of the caller.
 */
export function locateProgramFile(path: string, from: string): string {
  return fileURLToPath(new URL(path.replace(/\.ts$/, extname(from)), from));
}
