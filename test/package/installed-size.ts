import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** Measures the bytes of a package and all its dependencies, each copy once, without optional packages and peers. */
export function measureInstalledBytes(directory: string): number {
  const found = new Set<string>();
  const walk = (from: string): void => {
    if (found.has(from)) return;
    found.add(from);
    const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as Manifest;
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      if (manifest.optionalDependencies?.[name] === undefined) walk(locatePackage(name, from));
    }
  };
  walk(directory);
  return [...found].reduce((sum, path) => sum + measureDirectoryBytes(path), 0);
}

type Manifest = Readonly<{ dependencies?: object; optionalDependencies?: Readonly<Record<string, string>> }>;

/** Finds a dependency of a package: in the nearest node_modules that has it. */
function locatePackage(name: string, from: string): string {
  for (let at = from; at !== dirname(at); at = dirname(at)) {
    const candidate = join(at, "node_modules", name);
    if (existsSync(candidate)) return candidate;
  }
  throw new Error(`${from} depends on ${name}, which is not installed`);
}

/** Measures the bytes of a directory's files, without nested packages. */
export function measureDirectoryBytes(directory: string): number {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.name !== "node_modules" && !entry.isSymbolicLink())
    .reduce((sum, entry) => {
      const path = join(directory, entry.name);
      return sum + (entry.isDirectory() ? measureDirectoryBytes(path) : statSync(path).size);
    }, 0);
}
