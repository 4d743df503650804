import type { ConfigTree } from "./config-tree.ts";
import type { LintFinding } from "./finding.ts";

/** A key that stands twice in one object: readers differ in which one counts. */
export function duplicateKeys(tree: ConfigTree): readonly LintFinding[] {
  const seen = new Map<string, number>();
  return tree.properties().flatMap(({ path, keyPosition }): LintFinding[] => {
    const id = JSON.stringify(path);
    const first = seen.get(id);
    if (first === undefined) {
      seen.set(id, keyPosition.line);
      return [];
    }
    const message = `the key stands twice in one object (first in line ${first}); readers differ in which one counts.`;
    return [{ rule: "duplicate-key", path: path.join("."), ...keyPosition, message, fix: "remove one of the two." }];
  });
}

/** Values that look like secrets (specification, "Authentication", 3: never in source or configuration files). */
export function secretsInFile(tree: ConfigTree): readonly LintFinding[] {
  return tree.properties().flatMap(({ path, key, value, position }): LintFinding[] => {
    if (typeof value !== "string" || !looksSecret(key, value)) return [];
    const message = "looks like a secret; the node needs the path of a file that holds it.";
    const fix = "put the secret into a file of mode 0600, name its path here, and replace the secret that was shown.";
    return [{ rule: "secret", path: path.join("."), ...position, message, fix }];
  });
}

const words = /^([a-z]{3,8}\s+){11,23}[a-z]{3,8}$/;
const urlWithPassword = /:\/\/[^\s/@:]*:[^\s/@]+@/;
const secretName = /(^|_)(private_?key|secret|password|passphrase|mnemonic|api_?key|token)$/i;

/** The values that {@link secretsInFile} finds, for those who print parts of the file. */
export function secretValues(tree: ConfigTree): readonly string[] {
  return tree
    .properties()
    .flatMap(({ key, value }) => (typeof value === "string" && looksSecret(key, value) ? [value] : []));
}

function looksSecret(key: string, value: string): boolean {
  if (urlWithPassword.test(value)) return true;
  if (/^(0x)?[0-9a-fA-F]{64}$/.test(value) || value.includes("PRIVATE KEY-----") || words.test(value)) return true;
  return secretName.test(key) && value !== "" && !/[/\\.]/.test(value);
}
