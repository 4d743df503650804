/** Directories at a package's root that hold its own tests and documents. */
const unshippedDirectory = /^(test|tests|__tests__|bench|benchmark|benchmarks|docs|example|examples|\.github)$/;

/** What only editors, debuggers and readers open, and TypeScript: Node strips no types under node_modules. */
const unshippedFile = /\.(map|md|markdown|tsbuildinfo|ts|mts|cts)$/i;

/**
 * Whether a file or directory of `node_modules` belongs into an image. What is left out can't be loaded by Node: tests,
 * documents, source maps, type declarations and TypeScript. Licenses stay.
 *
 * @param path from `node_modules`, with `/`.
 */
export function isShipped(path: string, isDirectory: boolean): boolean {
  const inner = (path.split("node_modules/").at(-1) ?? path).split("/");
  const name = inner.at(-1) ?? "";
  const depthInPackage = inner.length - (inner[0]?.startsWith("@") === true ? 2 : 1);
  if (isDirectory) return name !== ".bin" && !(depthInPackage === 1 && unshippedDirectory.test(name));
  if (name === ".package-lock.json") return false;
  return /^licen[cs]e/i.test(name) || !unshippedFile.test(name);
}
