import packageJson from "../../package.json" with { type: "json" };
import { isBundled } from "./bundled-packages.ts";

/**
 * The package.json of the package: the repository's, without what only the repository needs and what is bundled. Its `imports` are looked
 * up by Node and by compilers, which both leave a pattern's target as it is: `#daemon/time.ts` is a file that ends with `.js`.
 */
export function publishedManifest(): object {
  const { name, version, description, license, bin, type, peerDependencies, peerDependenciesMeta, engines } =
    packageJson;
  const imports = Object.entries(packageJson.imports).flatMap(([pattern, target]) => [
    [pattern.replace(/\*$/, "*.ts"), target.replace(/\*$/, "*.js")],
    [pattern, target],
  ]);
  const exports = Object.entries(packageJson.exports).map(([path, file]) => [path, file.replace("./dist/", "./")]);
  const dependencies = Object.entries(packageJson.dependencies).filter(([dependency]) => !isBundled(dependency));
  return {
    name,
    version,
    description,
    license,
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
