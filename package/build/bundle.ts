import ts from "typescript";
import { globSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { findBundleName, isBundled, parsePackageName } from "./bundled-packages.ts";

/** Folder, inside the package, for bundled packages. */
export const bundleDirectory = "bundled";

const entryPrefix = "bundled:";

/**
 * Bundles everything that the compiled code in `dist` imports from bundled packages into `dist/bundled`, one file per specifier, with the
 * licences of all included packages. The files share chunks, so that each module is loaded once.
 *
 * @throws {Error} when an included package's licence can't be found.
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
    // `main` leads to OpenTelemetry's CommonJS, which would be bundled with all its unused code.
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

/** Creates a plugin that provides a virtual module for each specifier, which exports the names imported from that specifier. */
function createEntryPlugin(root: string, names: ImportedNames): Plugin {
  return {
    name: "gatehouse-bundled-entries",
    resolveId(source, importer) {
      if (source.startsWith(entryPrefix)) return source;
      // The x402 SDK is written for zod 3, which zod 4 includes under this name.
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
 * Writes `LICENSES.md`, which contains the licences of all packages that the modules belong to; `modules` contains file paths.
 *
 * @throws {Error} when a package does not specify its licence.
 */
export function writeLicences(directory: string, modules: readonly string[]): void {
  const inPackage = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
  const packages = [...new Set(modules.flatMap((path) => inPackage.exec(path) ?? []))];
  const texts = packages.map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;
    const file = readdirSync(path).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? undefined : readFileSync(join(path, file), "utf8").trim();
    if (text === undefined && license === undefined) throw new Error(`${name} ${version} does not state its licence`);
    return `# ${name} ${version}\n\n${text ?? `Licence: ${license} (the text of Apache-2.0 is in LICENSE)`}\n`;
  });
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "LICENSES.md"), [...new Set(texts)].toSorted().join("\n"));
}

/** Names that compiled code imports from bundled packages, by specifier. `*` means all names. */
type ImportedNames = ReadonlyMap<string, ReadonlySet<string>>;

/** Finds the names that compiled JavaScript imports from bundled packages, so that nothing else from these packages is bundled. */
function findImportedNames(texts: Iterable<string>): ImportedNames {
  const found = new Map<string, Set<string>>();
  const visit = (node: ts.Node): void => {
    const [specifier, names] = findImport(node);
    if (specifier !== undefined && isBundled(parsePackageName(specifier))) {
      found.set(specifier, new Set([...(found.get(specifier) ?? []), ...names]));
    }
    ts.forEachChild(node, visit);
  };
  for (const text of texts) visit(ts.createSourceFile("file.js", text, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS));
  return found;
}

type Imported = readonly [specifier: string | undefined, names: readonly string[]];

function findImport(node: ts.Node): Imported {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    return [node.moduleSpecifier.text, listClauseNames(node.importClause)];
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier)) {
    const { exportClause } = node;
    const isNamed = exportClause !== undefined && ts.isNamedExports(exportClause);
    return [node.moduleSpecifier.text, isNamed ? exportClause.elements.map(getOuterName) : ["*"]];
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments;
    if (argument !== undefined && ts.isStringLiteral(argument)) return [argument.text, listTakenNames(node)];
  }
  return [undefined, []];
}

function listClauseNames(clause: ts.ImportClause | undefined): readonly string[] {
  const bindings = clause?.namedBindings;
  const named = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements.map(getOuterName) : [];
  const all = bindings !== undefined && ts.isNamespaceImport(bindings) ? ["*"] : [];
  return [...(clause?.name === undefined ? [] : ["default"]), ...named, ...all];
}

/** Returns the name under which the module exports an import: `a`, for both `a` and `a as b`. */
function getOuterName({ name, propertyName }: ts.ImportSpecifier | ts.ExportSpecifier): string {
  return (propertyName ?? name).text;
}

/** Lists the names that `const { a, b } = await import("…")` destructures; `*` for a dynamic import in any other form. */
function listTakenNames(call: ts.CallExpression): readonly string[] {
  const declaration = call.parent.parent;
  if (!ts.isAwaitExpression(call.parent) || !ts.isVariableDeclaration(declaration)) return ["*"];
  const { name } = declaration;
  if (!ts.isObjectBindingPattern(name)) return ["*"];
  return name.elements.map((element) => (element.propertyName ?? element.name).getText());
}
