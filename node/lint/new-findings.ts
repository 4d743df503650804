import type { LintFinding, LintRule } from "./lint-rules.ts";

/** Rules by which a node does not start, or not as itself. */
const refusing: ReadonlySet<LintRule> = new Set(["unreadable", "missing-key", "wrong-type", "port-clash"]);

/** Whether a node with that in its node.conf does not start, or not as itself. Pure. */
export function isRefusing({ rule }: LintFinding): boolean {
  return refusing.has(rule);
}

/** What was not found before. A node runs with what it has: only what is wrong for a new version, and was not for the old one, speaks against it. Pure. */
export function listNewFindings(found: readonly LintFinding[], before: readonly LintFinding[]): readonly LintFinding[] {
  const known = new Set(before.map(({ rule, path }) => `${rule} ${path}`));
  return found.filter(({ rule, path }) => !known.has(`${rule} ${path}`));
}

/** A finding of node.conf in one line. Pure. */
export function formatFinding({ path, line, message, fix }: LintFinding): string {
  return `node.conf, line ${line}: ${[path, message].filter(Boolean).join(" ")} ${fix}`;
}
