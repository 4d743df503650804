import type { MonitorField, MonitorKeys, NodeReleases, NodeVersion } from "../versions.ts";
import { listKeySets, monitorFields, findNaming } from "../conf/monitor-keys.ts";
import { parseMonitorValue, typeRule } from "../conf/monitor-values.ts";
import { formatValue } from "../conf/shown-value.ts";
import type { ConfigTree, FoundProperty } from "./config-tree.ts";
import type { LintFinding } from "./lint-rules.ts";

const monitorPath = ["chain", "monitor_config"];

/** Finds keys of `chain.monitor_config` that are of another version, of the wrong type, or misspelt. */
export function findMonitorFindings(
  tree: ConfigTree,
  version: NodeVersion | undefined,
  releases: NodeReleases,
): readonly LintFinding[] {
  const monitor = tree.find(monitorPath);
  if (monitor === undefined) return [];
  if (typeof monitor.value !== "object" || monitor.value === null || Array.isArray(monitor.value)) {
    const message = `is ${JSON.stringify(monitor.value)}; expected an object.`;
    return [
      {
        rule: "wrong-type",
        path: monitorPath.join("."),
        ...monitor.position,
        message,
        fix: "write an object with the five keys.",
      },
    ];
  }
  const keys = tree
    .properties()
    .filter(
      (property) => property.path.length === 3 && property.path[1] === "monitor_config" && property.path[0] === "chain",
    );
  const naming = (key: string, field: MonitorField) =>
    version === undefined ? checkMixedNaming(keys, releases) : checkNaming(key, field, version, releases);
  return keys.flatMap((property) => checkKey(property, releases, naming));
}

function checkKey(
  { path, key, value, position, keyPosition }: FoundProperty,
  releases: NodeReleases,
  namingFinding: (key: string, field: MonitorField) => Judgement | undefined,
): readonly LintFinding[] {
  const field = listKeySets(releases)
    .map(({ keys }) => findField(key, keys))
    .find((found) => found !== undefined);
  const here = path.join(".");
  if (field === undefined) {
    const message = "is not a key that a node reads.";
    return [{ rule: "unknown-key", path: here, ...keyPosition, message, fix: "correct the spelling, or remove it." }];
  }
  const findings: LintFinding[] = [];
  const naming = namingFinding(key, field);
  if (naming !== undefined) findings.push({ ...naming, path: here, ...keyPosition });
  const wrong = checkValue(field, value);
  if (wrong !== undefined) findings.push({ ...wrong, path: here, ...position });
  return findings;
}

type Judgement = Pick<LintFinding, "rule" | "message" | "fix">;

function checkNaming(
  key: string,
  field: MonitorField,
  version: NodeVersion,
  releases: NodeReleases,
): Judgement | undefined {
  const { own, rule } = findNaming(version, releases);
  if (own[field] === key) return undefined;
  const message = `is silently ignored: ${rule}.`;
  return { rule: "other-version", message, fix: `rename it to ${own[field]}.` };
}

/** Returns a finding if no version reads all of the keys: of the naming for an unknown version nothing else can be wrong. */
function checkMixedNaming(found: readonly FoundProperty[], releases: NodeReleases): Judgement | undefined {
  const sets = listKeySets(releases);
  const known = found
    .map(({ key }) => key)
    .filter((key) => sets.some(({ keys }) => findField(key, keys) !== undefined));
  if (sets.some(({ keys }) => known.every((key) => findField(key, keys) !== undefined))) return undefined;
  const message = "is of one naming while other keys are of the other; a node reads only one of them.";
  const each = sets.map(({ words, range }, index) => {
    return index === sets.length - 1 ? `the ${words} names before` : `the ${words} names for ${range}`;
  });
  return { rule: "other-version", message, fix: `keep ${each.join(", ")}.` };
}

function checkValue(field: MonitorField, value: unknown): Judgement | undefined {
  const meant = parseMonitorValue(field, value);
  if (meant === value) return undefined;
  const fix =
    meant === undefined ? `write a value of this kind: ${typeRule[field]}.` : `write ${JSON.stringify(meant)}.`;
  const message = `is ${formatValue(value)}; ${typeRule[field]}.`;
  const rule = field === "pushAddress" && typeof value === "string" ? "push-address" : "wrong-type";
  return { rule, message, fix };
}

function findField(key: string, keys: MonitorKeys): MonitorField | undefined {
  return monitorFields.find((field) => keys[field] === key);
}
