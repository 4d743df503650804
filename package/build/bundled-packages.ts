/**
 * Packages that the published package includes, so that npm doesn't install them: four families of which Gatehouse uses less than a
 * megabyte, and npm would install 73. OpenTelemetry's interface is not among them: prom-client depends on it, and there must be only one.
 * See docs/decisions/0019-bundled-families.md.
 */
const families = /^(?:viem|ox|@x402\/.+|@opentelemetry\/(?!api$).+)$/;

/** Whether a package is bundled. */
export function isBundled(packageName: string): boolean {
  return families.test(packageName);
}

/** Parses the package's name out of a specifier: `viem` of `viem/accounts`. */
export function parsePackageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Finds the bundled file for a specifier: its name without extension. */
export function findBundleName(specifier: string): string {
  return specifier.replace("@", "").replaceAll("/", "-");
}
