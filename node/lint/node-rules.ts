import { isJsonObject } from "../conf/document.ts";
import { parseAddress } from "../conf/monitor-values.ts";
import { formatValue } from "../conf/secret-shapes.ts";
import { initPath, ownerPaths, portExamples } from "../conf/node-values.ts";
import type { ConfigTree } from "./config-tree.ts";
import type { LintFinding } from "./lint-rules.ts";

export function checkPorts(tree: ConfigTree): readonly LintFinding[] {
  const users = new Map<number, string>();
  return Object.keys(portExamples).flatMap((name) => checkPort(tree, name, users));
}

function checkPort(tree: ConfigTree, name: string, users: Map<number, string>): readonly LintFinding[] {
  const path = initPath.concat(name);
  const found = tree.find(path);
  if (found === undefined)
    return [reportMissing(tree, path, `add "${name}" with a port as a string, e.g. "${portExamples[name]}".`)];
  const { value, position } = found;
  const isPlain = typeof value === "number" || (typeof value === "string" && /^\d{1,5}$/.test(value));
  const number = isPlain ? Number(value) : Number.NaN;
  const finding = { path: path.join("."), ...position };
  if (!Number.isInteger(number) || number < 1 || number > 65_535) {
    const message = `is ${JSON.stringify(value)}; expected a port from 1 to 65535 as a string.`;
    return [{ ...finding, rule: "wrong-type", message, fix: 'write the port as a string, e.g. "18100".' }];
  }
  const findings: LintFinding[] = [];
  const other = users.get(number);
  users.set(number, name);
  if (other !== undefined) {
    const message = `is ${number}, as is ${other}.`;
    findings.push({ ...finding, rule: "port-clash", message, fix: "give each its own port." });
  }
  if (typeof value === "number") {
    const message = `is the number ${number}; expected a string.`;
    findings.push({ ...finding, rule: "wrong-type", message, fix: `write "${number}".` });
  }
  return findings;
}

export function checkPaths(tree: ConfigTree): readonly LintFinding[] {
  return ownerPaths.flatMap((path): LintFinding[] => {
    const found = tree.find(path);
    const name = path.at(-1) ?? "";
    if (found === undefined) return [reportMissing(tree, path, `add "${name}" with a file system path.`)];
    const { value, position } = found;
    if (typeof value === "string" && value.trim() !== "") return [];
    const message = `is ${JSON.stringify(value)}; expected a file system path as a string.`;
    return [{ rule: "wrong-type", path: path.join("."), ...position, message, fix: "write the path as a string." }];
  });
}

/** Finds other keys that have a value the node does not accept: an address, an object, and flags of the public node. */
export function checkKnownValues(tree: ConfigTree): readonly LintFinding[] {
  const missing = requiredValues.flatMap(({ path, fix }) => (tree.find(path) ? [] : [reportMissing(tree, path, fix)]));
  const wrong = tree.properties().flatMap(({ path, value, position }): LintFinding[] => {
    const here = path.join(".");
    const rule = knownValues.find(({ at }) => at.test(here));
    if (rule === undefined || rule.isRight(value)) return [];
    const message = `is ${formatValue(value)}; expected ${rule.expected}.`;
    return [{ rule: "wrong-type", path: here, ...position, message, fix: `write ${rule.expected}.` }];
  });
  return [...missing, ...wrong];
}

/** Required keys besides ports and paths (specification, "Node configuration file"). */
const requiredValues: readonly Readonly<{ path: readonly string[]; fix: string }>[] = [
  { path: [...initPath, "host_ip"], fix: 'add "host_ip" with the IP address to listen on, e.g. "127.0.0.1".' },
  { path: ["storage", "mygrid_conf"], fix: 'add "mygrid_conf" with an object, e.g. {}.' },
];

const knownValues: readonly Readonly<{ at: RegExp; expected: string; isRight: (value: unknown) => boolean }>[] = [
  {
    at: /^chain\.startup_config\.init_config\.host_ip$/,
    expected: "an IP address as a string, without protocol or port",
    isRight: (value) => parseAddress(value)?.host === value,
  },
  {
    at: /^chain\.startup_config\.parameters\.\/GlobalFlag\/enable_/,
    expected: '"true" or "false" as a string',
    isRight: (value) => value === "true" || value === "false",
  },
  {
    at: /^chain\.startup_config\.parameters\.\/GlobalFlag\//,
    expected: "a string",
    isRight: (value) => typeof value === "string",
  },
  { at: /^storage\.mygrid_conf$/, expected: "an object", isRight: isJsonObject },
  {
    at: /^storage\.mygrid_conf\.config\.mygrid\.expert_flags\.mygrid_client_enable_full_state_kv_db$/,
    expected: "true or false, without quotes",
    isRight: (value) => typeof value === "boolean",
  },
];

function reportMissing(tree: ConfigTree, path: readonly string[], fix: string): LintFinding {
  return { rule: "missing-key", path: path.join("."), ...tree.location(path), message: "is missing.", fix };
}
