import type { ConfigTree } from "./config-tree.ts";
import type { LintFinding } from "./finding.ts";
import { looksSecret, withoutSecretShapes } from "./secret-shapes.ts";

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

/** Comments are read by whoever reads the file. */
export function secretsInComments(tree: ConfigTree): readonly LintFinding[] {
  return tree.comments().flatMap(({ written, position }): LintFinding[] => {
    if (withoutSecretShapes(written) === written) return [];
    const message = "a comment holds what looks like a secret.";
    const fix = "remove it from the comment, and replace the secret that was shown.";
    return [{ rule: "secret", path: "", ...position, message, fix }];
  });
}

/** The values that {@link secretsInFile} finds, as they are written and as JSON, for those who print parts of the file. */
export function writtenSecrets(tree: ConfigTree): readonly string[] {
  return tree.properties().flatMap(({ key, value, written }) => {
    return typeof value === "string" && looksSecret(key, value) ? [written, JSON.stringify(value)] : [];
  });
}
