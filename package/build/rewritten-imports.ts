import { posix } from "node:path";
import { preProcessFile } from "typescript";
import { findBundleName, isBundled, parsePackageName } from "./bundled-packages.ts";
import { bundleDirectory } from "./bundle.ts";

/** File that contains the declarations of all bundled packages. */
export const bundledTypes = `${bundleDirectory}/x402-types.d.ts`;

/**
 * Redirects imports from bundled packages to the bundled files.
 *
 * @param path file path relative to the package's root, with `/` as separator.
 * @param text compiler output: JavaScript, or declarations.
 */
export function withBundledImports(path: string, text: string): string {
  const isDeclaration = path.endsWith(".d.ts");
  const rewrite = (specifier: string) => {
    const target = isDeclaration
      ? bundledTypes.replace(".d.ts", ".js")
      : `${bundleDirectory}/${findBundleName(specifier)}.js`;
    const relative = posix.relative(posix.dirname(path), target);
    return relative.startsWith(".") ? relative : `./${relative}`;
  };
  return preProcessFile(text)
    .importedFiles.filter(({ fileName }) => isBundled(parsePackageName(fileName)))
    .toSorted((one, other) => other.pos - one.pos)
    .reduce((rest, { fileName, pos, end }) => {
      const at = rest.indexOf(fileName, pos);
      if (at < 0 || at > end) throw new Error(`${path}: the import of ${fileName} is not where the compiler says`);
      return rest.slice(0, at) + rewrite(fileName) + rest.slice(at + fileName.length);
    }, text);
}
