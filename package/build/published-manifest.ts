import packageJson from "../../package.json" with { type: "json" };
import { isBundled } from "./bundled-packages.ts";

/** Places of the project in package.json: for readers of the registry, and `repository` for npm's provenance. */
type Project = Readonly<{ repository?: unknown; homepage?: unknown; bugs?: unknown; keywords?: unknown }>;

/**
 * Builds the package's package.json: the repository's, without fields that only the repository needs and without bundled packages. Its `imports` are looked
 * up by Node and by compilers, which both leave a pattern's target as it is: `#daemon/time.ts` is a file that ends with `.js`.
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

/** Picks these fields; JSON leaves out undefined ones. */
function pickProjectFields({ repository, homepage, bugs, keywords }: Project): Project {
  return { repository, homepage, bugs, keywords };
}
