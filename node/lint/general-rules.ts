import { withoutCredentials } from "../conf/shown-value.ts";
import type { ConfigTree } from "./config-tree.ts";
import type { LintFinding } from "./lint-rules.ts";

/** Finds keys that stand twice in one object: readers differ in which one counts. */
export function findDuplicateKeys(tree: ConfigTree): readonly LintFinding[] {
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

/** Finds values that look like secrets (specification, "Authentication", 3: never in source or configuration files). */
export function findSecretsInFile(tree: ConfigTree): readonly LintFinding[] {
  return tree.properties().flatMap(({ path, key, value, position }): LintFinding[] => {
    if (typeof value !== "string" || !looksSecret(key, value)) return [];
    const message = "looks like a secret; the node needs the path of a file that holds it.";
    const fix = "put the secret into a file of mode 0600, name its path here, and replace the secret that was shown.";
    return [{ rule: "secret", path: path.join("."), ...position, message, fix }];
  });
}

/** Finds secrets in comments, which everybody reads who reads the file. */
export function findSecretsInComments(tree: ConfigTree): readonly LintFinding[] {
  return tree.comments().flatMap(({ written, position }): LintFinding[] => {
    if (withoutSecretShapes(written) === written) return [];
    const message = "a comment holds what looks like a secret.";
    const fix = "remove it from the comment, and replace the secret that was shown.";
    return [{ rule: "secret", path: "", ...position, message, fix }];
  });
}

/** Lists the values that {@link findSecretsInFile} finds, as they are written and as JSON, for callers that print parts of the file. */
export function findWrittenSecrets(tree: ConfigTree): readonly string[] {
  return tree.properties().flatMap(({ key, value, written }) => {
    return typeof value === "string" && looksSecret(key, value) ? [written, JSON.stringify(value)] : [];
  });
}

const secretName = /(^|_)(private_?key|secret|password|passphrase|mnemonic|api_?key|token)$/i;
const urlWithPassword = /:\/\/[^\s/@:]*:[^\s/@]+@/;

/** Patterns of texts that are secrets anywhere: a key of 32 bytes in hexadecimal, a PEM key, a phrase of 12 to 24 words. */
const shapes: readonly RegExp[] = [
  /(?<![0-9a-zA-Z])(?:0x)?[0-9a-fA-F]{64}(?![0-9a-zA-Z])/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----)?/g,
  /(?<![a-z])(?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8}(?![a-z])/g,
];

/** A line of a PEM key whose beginning is not shown; no path has all of this. */
const pemLine = /(?<![\w+/.])(?!\/)(?=\S*[A-Z])(?=\S*[a-z])(?=\S*\d)[A-Za-z0-9+/]{60,}={0,2}/g;

/** Name of a secret, then a text in quotes, or one with a digit, which is no word of a sentence. */
const named =
  /((?:private[ _-]?key|secret|password|passphrase|mnemonic|api[ _-]?key|token)["']?[ \t]*[:=][ \t]*)(?:(["'])[^"'\n/\\.]{4,}\2|(?=\S*\d)[^\s"',;/\\.]{6,}(?![/\\.]))/gi;

/** Whether a property's value looks like a secret (specification, "Authentication", 3: never in a configuration file). */
export function looksSecret(key: string, value: string): boolean {
  if (urlWithPassword.test(value)) return true;
  if (shapes.some((shape) => value.search(shape) !== -1)) return true;
  return secretName.test(key) && value !== "" && !/[/\\.]/.test(value);
}

/** Masks everything in a text, such as a comment, that looks like a secret. Pure. */
export function withoutSecretShapes(text: string): string {
  return [...shapes, pemLine]
    .reduce((before, shape) => before.replace(shape, "[secret]"), withoutCredentials(text))
    .replace(named, "$1[secret]");
}
