import type { LintFinding, LintRule } from "./lint-rules.ts";

/** Rules whose findings keep a node from starting, or from starting as itself. */
const refusing: ReadonlySet<LintRule> = new Set(["unreadable", "missing-key", "wrong-type", "port-clash"]);

/** Whether a node with this finding in its node.conf fails to start, or starts as another. Pure. */
export function isRefusing({ rule }: LintFinding): boolean {
  return refusing.has(rule);
}

/** Lists new findings. A node runs with the old ones: only what is wrong for a new version, and was not for the old one, speaks against it. Pure. */
export function listNewFindings(found: readonly LintFinding[], before: readonly LintFinding[]): readonly LintFinding[] {
  const known = new Set(before.map(({ rule, path }) => `${rule} ${path}`));
  return found.filter(({ rule, path }) => !known.has(`${rule} ${path}`));
}

/** Formats a finding of node.conf in one line. Pure. */
export function formatFinding({ path, line, message, fix }: LintFinding): string {
  return `node.conf, line ${line}: ${[path, message].filter(Boolean).join(" ")} ${fix}`;
}
