import { findOutdatedForms } from "../conf/document.ts";
import { looksSecret, withoutSecretShapes } from "../conf/secret-shapes.ts";
import type { ConfigTree } from "./config-tree.ts";
import type { LintFinding } from "./lint-rules.ts";

/** Finds duplicate keys in an object: parsers differ in which one they use. */
export function findDuplicateKeys(tree: ConfigTree): readonly LintFinding[] {
  const seen = new Map<string, number>();
  return tree.properties().flatMap(({ path, keyPosition }): LintFinding[] => {
    const id = JSON.stringify(path);
    const first = seen.get(id);
    if (first === undefined) {
      seen.set(id, keyPosition.line);
      return [];
    }
    const message = `duplicate key in one object (first on line ${first}); parsers differ in which value they use.`;
    return [{ rule: "duplicate-key", path: path.join("."), ...keyPosition, message, fix: "remove one of the two." }];
  });
}

/** Finds parts that occur only in files from earlier releases. */
export function findOlderParts(tree: ConfigTree): readonly LintFinding[] {
  const top = tree.properties().filter(({ path }) => path.length === 1);
  return findOutdatedForms(Object.fromEntries(top.map(({ key }) => [key, true]))).flatMap(({ key, message, fix }) => {
    const { keyPosition } = top.find((property) => property.key === key) ?? {};
    return keyPosition === undefined ? [] : [{ rule: "older-release", path: key, ...keyPosition, message, fix }];
  });
}

/** Finds values that look like secrets (specification, "Authentication", 3: never in source or configuration files). */
export function findSecretsInFile(tree: ConfigTree): readonly LintFinding[] {
  return tree.properties().flatMap(({ path, key, value, position }): LintFinding[] => {
    if (!looksSecret(key, value)) return [];
    const message = "looks like a secret; the node expects the path of a file with it.";
    const fix = "move the secret to a file with mode 0600, set its path here, and rotate the exposed secret.";
    return [{ rule: "secret", path: path.join("."), ...position, message, fix }];
  });
}

export function findSecretsInComments(tree: ConfigTree): readonly LintFinding[] {
  return tree.comments().flatMap(({ written, position }): LintFinding[] => {
    if (withoutSecretShapes(written) === written) return [];
    const message = "a comment contains what looks like a secret.";
    const fix = "remove it from the comment, and rotate the exposed secret.";
    return [{ rule: "secret", path: "", ...position, message, fix }];
  });
}

/** Lists the values that {@link findSecretsInFile} finds, both as written and as JSON, for callers that print parts of the file. */
export function findWrittenSecrets(tree: ConfigTree): readonly string[] {
  return tree.properties().flatMap(({ key, value, written }) => {
    return typeof value === "string" && looksSecret(key, value) ? [written, JSON.stringify(value)] : [];
  });
}
