/**
 * Packages that are bundled into the published package, so that npm doesn't install them. Gatehouse uses less than a megabyte of these four
 * package families, of which npm would install 73 packages. OpenTelemetry's API package is not bundled: prom-client depends on it too, and
 * there must be only one copy. See docs/decisions/0019-bundled-families.md.
 */
const families = /^(?:viem|ox|@x402\/.+|@opentelemetry\/(?!api$).+)$/;

export function isBundled(packageName: string): boolean {
  return families.test(packageName);
}

/** Parses the package name from a specifier: `viem` from `viem/accounts`. */
export function parsePackageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

export function findBundleName(specifier: string): string {
  return specifier.replace("@", "").replaceAll("/", "-");
}
