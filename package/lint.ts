/** `gatehouse-evm/lint`: checks the text of a `node.conf` like `gatehouse config lint` does, without a node. */
export type { LintFinding, LintRule } from "#node/lint/lint-rules.ts";
export { lintConfig } from "#node/lint/lint-config.ts";
export { lintRules } from "#node/lint/lint-rules.ts";
export { parseNodeVersion, type NodeVersion } from "#node/versions.ts";
