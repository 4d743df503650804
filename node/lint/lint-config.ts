import { parseConfig } from "../conf/document.ts";
import { configLimitBytes } from "../conf/problem.ts";
import { parseText } from "../conf/parsed-text.ts";
import type { NodeVersion } from "../versions.ts";
import { buildConfigTree, type ConfigTree } from "./config-tree.ts";
import type { LintFinding } from "./lint-rules.ts";
import { findDuplicateKeys, findOlderParts, findSecretsInComments, findSecretsInFile } from "./general-rules.ts";
import { findMonitorFindings } from "./monitor-rules.ts";
import { checkKnownValues, checkPaths, checkPorts } from "./node-rules.ts";

/**
 * Checks a node.conf without a node: unreadable content, duplicate keys, conflicting ports, missing paths, a push address with a protocol,
 * wrong types, keys of another version, secrets. Findings are in file order. Pure.
 *
 * @example
 * import { lintConfig, parseNodeVersion } from "gatehouse-evm/lint";
 *
 * const conf = new TextEncoder().encode('{ "chain": { "monitor_config": { "enable_pamir_cetina": true } } }');
 * const findings = lintConfig(conf, parseNodeVersion("0.16.2"));
 * console.log(findings.find(({ rule }) => rule === "other-version")?.fix); // rename it to storage_enable_cetina.
 */
export function lintConfig(bytes: Uint8Array, version: NodeVersion | undefined): readonly LintFinding[] {
  const findings = lintContent(bytes, version);
  if (bytes.length <= configLimitBytes) return findings;
  const message = `is larger than the sidecar's limit of ${configLimitBytes} bytes.`;
  return [{ rule: "too-large", path: "", line: 1, column: 1, message, fix: "make it smaller." }, ...findings];
}

function lintContent(bytes: Uint8Array, version: NodeVersion | undefined): readonly LintFinding[] {
  const parsed = parseConfig(bytes);
  if (!parsed.ok) {
    const { reason, finding, fix, line = 1, column = 1 } = parsed.problem;
    const text = new TextDecoder().decode(bytes);
    const whole = reason === "NoChain" ? parseText(text) : undefined;
    const tree = whole?.ok === true ? buildConfigTree(whole.parsed) : undefined;
    const older = tree === undefined ? [] : findOlderParts(tree);
    const unreadable: LintFinding = { rule: "unreadable", path: "", line, column, message: `${finding}.`, fix };
    const secrets = tree === undefined ? [] : [...findSecretsInFile(tree), ...findSecretsInComments(tree)];
    return sortFindings([...(older.length === 0 ? [unreadable] : older), ...secrets]);
  }
  const { document } = parsed;
  const findings = listFindings(buildConfigTree(document), version);
  if (document.format !== "json5") return findings;
  const fix = "write it as JSON; comments may stay.";
  const message = "is JSON5, which can't be corrected in place.";
  return [{ rule: "json5", path: "", line: 1, column: 1, message, fix }, ...findings];
}

function listFindings(tree: ConfigTree, version: NodeVersion | undefined): readonly LintFinding[] {
  const findings = [
    ...findDuplicateKeys(tree),
    ...checkPorts(tree),
    ...checkPaths(tree),
    ...checkKnownValues(tree),
    ...findOlderParts(tree),
    ...findMonitorFindings(tree, version),
    ...findSecretsInFile(tree),
    ...findSecretsInComments(tree),
  ];
  return sortFindings(findings);
}

function sortFindings(findings: readonly LintFinding[]): readonly LintFinding[] {
  return findings.toSorted((a, b) => a.line - b.line || a.column - b.column);
}
