import packageJson from "../../package.json" with { type: "json" };
import { isBundled } from "./bundled-packages.ts";

/** Links to the project in package.json, for visitors of the registry. `repository` is also needed for npm's provenance. */
type Project = Readonly<{ repository?: unknown; homepage?: unknown; bugs?: unknown; keywords?: unknown }>;

/**
 * Builds the package's package.json from the repository's, without the fields that only the repository needs and without bundled packages.
 * Both Node and compilers resolve its `imports` and use a pattern's target unchanged, so `#daemon/time.ts` maps to a file that ends with
 * `.js`.
 */
export function buildPublishedManifest(manifest: typeof packageJson & Project = packageJson): object {
  const { name, version, description, license, bin, type, peerDependencies, peerDependenciesMeta, engines } = manifest;
  const imports = Object.entries(manifest.imports).flatMap(([pattern, target]) => [
    [pattern.replace(/\*$/, "*.ts"), target.replace(/\*$/, "*.js")],
    [pattern, target],
  ]);
  const exports = Object.entries(manifest.exports).map(([path, file]) => [path, file.replace("./dist/", "./")]);
  const dependencies = Object.entries(manifest.dependencies).filter(([dependency]) => !isBundled(dependency));
  return {
    name,
    version,
    description,
    license,
    ...pickProjectFields(manifest),
    bin,
    type,
    imports: Object.fromEntries(imports) as unknown,
    exports: Object.fromEntries(exports) as unknown,
    dependencies: Object.fromEntries(dependencies),
    peerDependencies,
    peerDependenciesMeta,
    engines,
  };
}

/** Picks these fields; JSON omits undefined ones. */
function pickProjectFields({ repository, homepage, bugs, keywords }: Project): Project {
  return { repository, homepage, bugs, keywords };
}
