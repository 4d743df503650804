import type { LintFinding, LintRule } from "./lint-rules.ts";

/** Rules whose findings prevent a node from starting, or from starting with its own identity. */
const startPreventingRules: ReadonlySet<LintRule> = new Set(["unreadable", "missing-key", "wrong-type", "port-clash"]);

/** Returns whether a node with this finding in its node.conf fails to start, or starts with another node's identity. Pure. */
export function preventsStart({ rule }: LintFinding): boolean {
  return startPreventingRules.has(rule);
}

/** Lists new findings. The node is running despite the old ones, so only problems introduced by the new version block the upgrade. Pure. */
export function listNewFindings(found: readonly LintFinding[], before: readonly LintFinding[]): readonly LintFinding[] {
  const known = new Set(before.map(({ rule, path }) => `${rule} ${path}`));
  return found.filter(({ rule, path }) => !known.has(`${rule} ${path}`));
}

export function formatFinding({ path, line, message, fix }: LintFinding): string {
  return `node.conf, line ${line}: ${[path, message].filter(Boolean).join(" ")} ${fix}`;
}
