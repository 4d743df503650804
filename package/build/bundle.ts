import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { findBundleName } from "./bundled-packages.ts";
import { findImportedNames, type ImportedNames } from "./imported-names.ts";

/** Folder of bundled packages, in the package. */
export const bundleDirectory = "bundled";

const entryPrefix = "bundled:";

/**
 * Bundles the imports of the compiled code in `dist` from bundled packages into `dist/bundled`, a file for each specifier, with the licences of
 * all packages included. Files share their chunks, so that each module is loaded once.
 *
 * @throws {Error} when an included package has no licence to put next to it.
 */
export async function bundlePackages(root: string, dist: string): Promise<void> {
  const names = findImportedNames(
    globSync("**/*.js", { cwd: dist }).map((path) => readFileSync(join(dist, path), "utf8")),
  );
  const input = Object.fromEntries([...names.keys()].map((name) => [findBundleName(name), entryPrefix + name]));
  await using bundle = await rolldown({
    input,
    cwd: root,
    platform: "node",
    // OpenTelemetry's CommonJS, which `main` leads to, is bundled with everything that nobody uses.
    resolve: { mainFields: ["module", "main"] },
    external: [/^node:/, "@opentelemetry/api", "ws", "zod/v3"],
    plugins: [createEntryPlugin(root, names)],
  });
  const { output } = await bundle.write({
    dir: join(dist, bundleDirectory),
    format: "esm",
    minify: true,
    chunkFileNames: "[name]-[hash].js",
  });
  const modules = output.flatMap((file) => (file.type === "chunk" ? Object.keys(file.modules) : []));
  writeLicences(join(dist, bundleDirectory), modules);
}

/** Creates a plugin with a virtual module for each specifier, which exports the names imported by it. */
function createEntryPlugin(root: string, names: ImportedNames): Plugin {
  return {
    name: "gatehouse-bundled-entries",
    resolveId(source, importer) {
      if (source.startsWith(entryPrefix)) return source;
      // The SDK of x402 is written for zod 3, which zod 4 includes under that name.
      if (source === "zod") return { id: "zod/v3", external: true };
      if (importer?.startsWith(entryPrefix) !== true) return undefined;
      return this.resolve(source, join(root, "package.json"), { skipSelf: true });
    },
    load(id) {
      if (!id.startsWith(entryPrefix)) return undefined;
      const specifier = id.slice(entryPrefix.length);
      const wanted = [...(names.get(specifier) ?? [])];
      const taken = wanted.includes("*") ? "*" : `{ ${wanted.join(", ")} }`;
      return `export ${taken} from "${specifier}";`;
    },
  };
}

type Manifest = Readonly<{ name: string; version: string; license?: string }>;

/**
 * Writes `LICENSES.md`: the licences of all packages that modules are from; `modules` are paths of files.
 *
 * @throws {Error} when a package does not name its licence.
 */
export function writeLicences(directory: string, modules: readonly string[]): void {
  const inPackage = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
  const packages = [...new Set(modules.flatMap((path) => inPackage.exec(path) ?? []))];
  const texts = packages.map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;
    const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? undefined : readFileSync(join(path, file), "utf8").trim();
    if (text === undefined && license === undefined) throw new Error(`${name} ${version} says nothing of its licence`);
    return `# ${name} ${version}\n\n${text ?? `Licence: ${license}, whose text is in LICENSE where it is Apache-2.0`}\n`;
  });
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "LICENSES.md"), [...new Set(texts)].toSorted().join("\n"));
}
