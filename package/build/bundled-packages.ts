/**
 * What the package from a registry brings with it instead of having npm install it: four families of packages of which Gatehouse uses less than a
 * megabyte, and npm would install 73. OpenTelemetry's interface is not among them: prom-client brings it, and there is to be one of it.
 * See docs/decisions/0019-bundled-families.md.
 */
const families = /^(?:viem|ox|@x402\/.+|@opentelemetry\/(?!api$).+)$/;

/** Whether a package is bundled. */
export function isBundled(packageName: string): boolean {
  return families.test(packageName);
}

/** The package that a specifier leads into: `viem` of `viem/accounts`. */
export function parsePackageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Name of the file, without its ending, that holds what the compiled code imports by a specifier. */
export function findBundleName(specifier: string): string {
  return specifier.replace("@", "").replaceAll("/", "-");
}
