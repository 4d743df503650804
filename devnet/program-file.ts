import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Locates the file of a program that is started by its path: TypeScript in the repository, its compiled form in the package.
 *
 * @param path as an import of it would be written, ending in `.ts`.
 * @param from the `import.meta.url` of the caller.
 */
export function locateProgramFile(path: string, from: string): string {
  return fileURLToPath(new URL(path.replace(/\.ts$/, extname(from)), from));
}
