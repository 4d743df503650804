import type { NodeVersion } from "../versions.ts";
import { monitorFields, namingOf, pamirKeys, storageKeys, type MonitorField } from "../conf/monitor-keys.ts";
import { readMonitorValue, typeRule } from "../conf/monitor-values.ts";
import { shownValue } from "../conf/shown-value.ts";
import type { ConfigTree, FoundProperty } from "./config-tree.ts";
import type { LintFinding } from "./finding.ts";

const monitorPath = ["chain", "monitor_config"];

/** Keys of `chain.monitor_config`: of the node's version, of the right type, none misspelt. */
export function monitorRules(tree: ConfigTree, version: NodeVersion | undefined): readonly LintFinding[] {
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
  const names = keys.map(({ key }) => key);
  const isMixed = names.some((name) => fieldOf(name, "storage")) && names.some((name) => fieldOf(name, "pamir"));
  return keys.flatMap((property) => keyFindings(property, version, isMixed));
}

function keyFindings(
  { path, key, value, position, keyPosition }: FoundProperty,
  version: NodeVersion | undefined,
  isMixed: boolean,
): readonly LintFinding[] {
  const field = fieldOf(key, "storage") ?? fieldOf(key, "pamir");
  const here = path.join(".");
  if (field === undefined) {
    const message = "is no key that a node reads.";
    return [{ rule: "unknown-key", path: here, ...keyPosition, message, fix: "correct the spelling, or remove it." }];
  }
  const findings: LintFinding[] = [];
  const naming = namingFinding(key, field, version, isMixed);
  if (naming !== undefined) findings.push({ ...naming, path: here, ...keyPosition });
  const wrong = valueFinding(field, value);
  if (wrong !== undefined) findings.push({ ...wrong, path: here, ...position });
  return findings;
}

type Judgement = Pick<LintFinding, "rule" | "message" | "fix">;

function namingFinding(
  key: string,
  field: MonitorField,
  version: NodeVersion | undefined,
  isMixed: boolean,
): Judgement | undefined {
  const rule = "other-version";
  if (version !== undefined) {
    const naming = namingOf(version);
    if (naming.own[field] === key) return undefined;
    const message = `is silently ignored: ${naming.rule}.`;
    return { rule, message, fix: `rename it to ${naming.own[field]}.` };
  }
  if (!isMixed) return undefined;
  const message = "is of one naming while other keys are of the other; a node reads only one of them.";
  return { rule, message, fix: "keep the storage_* names for 0.16.0 and later, the pamir names before." };
}

function valueFinding(field: MonitorField, value: unknown): Judgement | undefined {
  const meant = readMonitorValue(field, value);
  if (meant === value) return undefined;
  const fix =
    meant === undefined ? `write a value of this kind: ${typeRule[field]}.` : `write ${JSON.stringify(meant)}.`;
  const message = `is ${shownValue(value)}; ${typeRule[field]}.`;
  const rule = field === "pushAddress" && typeof value === "string" ? "push-address" : "wrong-type";
  return { rule, message, fix };
}

function fieldOf(key: string, naming: "storage" | "pamir"): MonitorField | undefined {
  const keys = naming === "storage" ? storageKeys : pamirKeys;
  return monitorFields.find((field) => keys[field] === key);
}
