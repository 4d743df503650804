import type { MonitorField, MonitorKeys, NodeVersion } from "../versions.ts";
import { listKeySets, monitorFields, findNaming } from "../conf/monitor-config.ts";
import { parseAddress, parseMonitorValue, typeRule } from "../conf/monitor-values.ts";
import { formatValue } from "../conf/secret-shapes.ts";
import type { ConfigTree, FoundProperty } from "./config-tree.ts";
import type { LintFinding } from "./lint-rules.ts";

const monitorPath = ["chain", "monitor_config"];

/** Finds keys of `chain.monitor_config` that belong to another version, have the wrong type, or are misspelt. */
export function findMonitorFindings(tree: ConfigTree, version: NodeVersion | undefined): readonly LintFinding[] {
  const monitor = tree.find(monitorPath);
  if (monitor === undefined) return [];
  if (typeof monitor.value !== "object" || monitor.value === null || Array.isArray(monitor.value)) {
    const message = `is ${JSON.stringify(monitor.value)}; expected an object.`;
    const fix = "write an object with the five keys.";
    return [{ rule: "wrong-type", path: monitorPath.join("."), ...monitor.position, message, fix }];
  }
  const [root, section] = monitorPath;
  const keys = tree.properties().filter(({ path }) => path.length === 3 && path[0] === root && path[1] === section);
  const found = keys.flatMap((property) => checkKey(property, keys, version));
  return [...found, ...checkLoneSwitch(keys, version)];
}

/** Finds a switch that is on without a push target. A switch from another version is already reported as a finding. */
function checkLoneSwitch(found: readonly FoundProperty[], version: NodeVersion | undefined): readonly LintFinding[] {
  const sets = version === undefined ? listKeySets() : [{ keys: findNaming(version).own }];
  return sets.flatMap(({ keys }): LintFinding[] => {
    const [own, ...others] = found.filter(({ key }) => findField(key, keys) !== undefined);
    if (own?.key !== keys.enabled || others.length > 0 || parseMonitorValue("enabled", own.value) !== true) return [];
    const missing = monitorFields.filter((field) => field !== "enabled").map((field) => keys[field]);
    const message = "is enabled, but the keys for the push address and job name are missing.";
    const fix = `add ${missing.join(", ")}, or let \`gatehouse config plan --write\` do it.`;
    return [{ rule: "lone-switch", path: own.path.join("."), ...own.keyPosition, message, fix }];
  });
}

function checkKey(
  { path, key, value, position, keyPosition }: FoundProperty,
  all: readonly FoundProperty[],
  version: NodeVersion | undefined,
): readonly LintFinding[] {
  const sets = listKeySets();
  const set = sets.find(({ keys }) => findField(key, keys) !== undefined);
  const field = set && findField(key, set.keys);
  const here = path.join(".");
  if (field === undefined && !sets.some(({ instanceKey }) => instanceKey === key)) {
    const message = "is not a key that any node version uses.";
    return [{ rule: "unknown-key", path: here, ...keyPosition, message, fix: "correct the spelling, or remove it." }];
  }
  const naming = version === undefined ? checkMixedNaming(all) : checkNaming(key, field, version);
  const findings: LintFinding[] = naming === undefined ? [] : [{ ...naming, path: here, ...keyPosition }];
  if (set === undefined || field === undefined) return findings;
  const port = { key: set.keys.pushPort, value: all.find((other) => other.key === set.keys.pushPort)?.value };
  const wrong = checkValue(field, value, port);
  if (wrong !== undefined) findings.push({ ...wrong, path: here, ...position });
  return findings;
}

type Judgement = Pick<LintFinding, "rule" | "message" | "fix">;

/** Checks a key's name. If no field is given, the key is the instance key. */
function checkNaming(key: string, field: MonitorField | undefined, version: NodeVersion): Judgement | undefined {
  const { own, instanceKey, rule } = findNaming(version);
  const name = field === undefined ? instanceKey : own[field];
  if (name === key) return undefined;
  if (name !== undefined)
    return { rule: "other-version", message: `is silently ignored: ${rule}.`, fix: `rename it to ${name}.` };
  const message = `is silently ignored: ${rule}, which have no instance key.`;
  return { rule: "other-version", message, fix: "remove it, and give each node of the job its own job name." };
}

/** Returns a finding if no version reads all of the keys. For an unknown version, no other naming problem can be detected. */
function checkMixedNaming(found: readonly FoundProperty[]): Judgement | undefined {
  const sets = listKeySets();
  const known = found
    .map(({ key }) => key)
    .filter((key) => sets.some(({ keys }) => findField(key, keys) !== undefined));
  if (sets.some(({ keys }) => known.every((key) => findField(key, keys) !== undefined))) return undefined;
  const message = "has one version's name, but other keys have another version's; a node uses only one set.";
  const each = sets.map(({ words, range }, index) => {
    return index === sets.length - 1 ? `the ${words} names before` : `the ${words} names for ${range}`;
  });
  return { rule: "other-version", message, fix: `keep ${each.join(", ")}.` };
}

function checkValue(
  field: MonitorField,
  value: unknown,
  port: Readonly<{ key: string; value: unknown }>,
): Judgement | undefined {
  const meant = parseMonitorValue(field, value);
  if (meant === value) return undefined;
  const more = field === "pushAddress" ? explainPort(value, port) : "";
  const fix = meant === undefined ? `correct the value: ${typeRule[field]}.` : `write ${JSON.stringify(meant)}.${more}`;
  const message = `is ${formatValue(value)}; ${typeRule[field]}.`;
  const rule = field === "pushAddress" && typeof value === "string" ? "push-address" : "wrong-type";
  return { rule, message, fix };
}

function explainPort(address: unknown, { key, value }: Readonly<{ key: string; value: unknown }>): string {
  const pasted = parseAddress(address)?.port;
  if (pasted === undefined || pasted === value) return "";
  return value === undefined
    ? ` Set ${key} to ${pasted}.`
    : ` ${key} is ${formatValue(value)}, not the port ${pasted} in this address; correct the one that is wrong.`;
}

function findField(key: string, keys: MonitorKeys): MonitorField | undefined {
  return monitorFields.find((field) => keys[field] === key);
}
