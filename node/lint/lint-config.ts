import { parseConfig, type JsonObject } from "../conf/document.ts";
import { nodeReleases, type NodeReleases, type NodeVersion } from "../versions.ts";
import { configTree, type ConfigTree } from "./config-tree.ts";
import type { LintFinding } from "./finding.ts";
import { duplicateKeys, secretsInComments, secretsInFile } from "./general-rules.ts";
import { monitorRules } from "./monitor-rules.ts";
import { pathRules, portRules } from "./node-rules.ts";

/**
 * Judges a node.conf with no node at all: what can't be read, keys that stand twice, ports that clash, missing paths, a push
 * address with a protocol, wrong types, keys of another version, secrets. Findings come in the order of the file. Pure.
 */
export function lintConfig(
  bytes: Uint8Array,
  version: NodeVersion | undefined,
  releases: NodeReleases = nodeReleases,
): readonly LintFinding[] {
  const parsed = parseConfig(bytes);
  if (!parsed.ok) {
    const { message, line = 1, column = 1 } = parsed.problem;
    return [{ rule: "unreadable", path: "", line, column, message, fix: "write the file as JSON; comments may stay." }];
  }
  const { text, format, value } = parsed.document;
  const tree = configTree(text);
  const judge = (found: ConfigTree) => findingsOf(found, version, releases);
  const findings = tree === undefined ? placeless(value, judge) : judge(tree);
  if (format !== "json5") return findings;
  const fix = "write it as JSON; comments may stay.";
  const message = "is JSON5, which can't be corrected in place.";
  return [{ rule: "json5", path: "", line: 1, column: 1, message, fix }, ...findings];
}

/** Judges what a text means whose places can't be told. */
function placeless(value: JsonObject, judge: (tree: ConfigTree) => readonly LintFinding[]): readonly LintFinding[] {
  const tree = configTree(JSON.stringify(value));
  return tree === undefined ? [] : judge(tree).map(withoutPlace);
}

function withoutPlace(finding: LintFinding): LintFinding {
  return { ...finding, line: 1, column: 1 };
}

function findingsOf(
  tree: ConfigTree,
  version: NodeVersion | undefined,
  releases: NodeReleases,
): readonly LintFinding[] {
  const findings = [
    ...duplicateKeys(tree),
    ...portRules(tree),
    ...pathRules(tree),
    ...monitorRules(tree, version, releases),
    ...secretsInFile(tree),
    ...secretsInComments(tree),
  ];
  return findings.sort((a, b) => a.line - b.line || a.column - b.column);
}
