import JSON5 from "json5";
import { describeDuplicateKey } from "../files/json5-tree.ts";
import { readRegularText, explainUnreadable } from "../files/regular-file.ts";
import { toEnvironmentName, type SettingsLeaf } from "./leaf.ts";
import { type SettingsProblem, isSimilar, findNearestWord } from "./problem.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type EnvironmentValue = Readonly<{ leaf: SettingsLeaf; value: unknown }>;

/**
 * Reads settings from the environment. An empty variable counts as absent; a secret may also be in the file specified by `<NAME>_FILE`.
 * Adds errors to `problems`.
 */
export function readEnvironment(
  leaves: readonly SettingsLeaf[],
  env: Environment,
  problems: SettingsProblem[],
): readonly EnvironmentValue[] {
  return leaves.flatMap((leaf) => {
    const text = readEnvironmentText(leaf, env, problems);
    if (text === undefined) return [];
    const duplicateKey = leaf.format === "text" ? undefined : describeDuplicateKey(text);
    if (duplicateKey !== undefined) problems.push({ name: leaf.env, message: duplicateKey });
    return [{ leaf, value: parseText(leaf, text) }];
  });
}

/** Variables that Kubernetes adds for a Service of the same name; not typos. */
const serviceLink = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)$/;

function isServiceLink(name: string, value = ""): boolean {
  return serviceLink.test(name) || (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value));
}

/** Finds variables with the service's prefix that match no setting: typos that would otherwise be ignored. */
export function findUnknownVariables(
  service: string,
  leaves: readonly SettingsLeaf[],
  env: Environment,
): SettingsProblem[] {
  const prefix = `${toEnvironmentName(service, [])}_`;
  const known = new Set(leaves.flatMap((leaf) => (leaf.secret ? [leaf.env, `${leaf.env}_FILE`] : [leaf.env])));
  known.add(toEnvironmentName(service, ["settingsPath"]));
  return Object.keys(env)
    .filter((name) => name.startsWith("GATEHOUSE_") && !known.has(name) && !isServiceLink(name, env[name]))
    .flatMap((name) => {
      if (!name.startsWith(prefix)) return findMisspeltService(name, prefix, [...known]);
      const meant = findNearestVariable(name, prefix, [...known]);
      const hint = meant === undefined ? "no such setting;" : `no such setting; did you mean ${meant}?`;
      const list = `"gatehouse ${service} --help" lists them.`;
      return [{ name, message: `${hint} ${list} Correct the name or remove it.` }];
    });
}

/** Compares only what follows the service's prefix, which would make any two variables similar. */
function findNearestVariable(name: string, prefix: string, known: readonly string[]): string | undefined {
  const nearestName = findNearestWord(
    name.slice(prefix.length),
    known.map((each) => each.slice(prefix.length)),
  );
  return nearestName === undefined ? undefined : `${prefix}${nearestName}`;
}

/** Reports a variable whose service name nearly matches this service's, as in `GATEHOUSE_SIDCAR_…`: no other service would report it either. */
function findMisspeltService(name: string, prefix: string, known: readonly string[]): readonly SettingsProblem[] {
  const own = prefix.slice("GATEHOUSE_".length, -1);
  const words = name.slice("GATEHOUSE_".length).split("_");
  const count = own.split("_").length;
  const head = [count - 1, count, count + 1]
    .map((length) => words.slice(0, length).join("_"))
    .find((start) => start !== "" && isSimilar(start, own));
  if (head === undefined) return [];
  const meant = findNearestVariable(`${prefix}${name.slice(`GATEHOUSE_${head}_`.length)}`, prefix, known);
  if (meant === undefined) return [];
  return [{ name, message: `no such service as ${head}; did you mean ${meant}? Correct the name or remove it.` }];
}

const secretBytes = 1_048_576;

function readEnvironmentText(leaf: SettingsLeaf, env: Environment, problems: SettingsProblem[]): string | undefined {
  const directValue = env[leaf.env];
  if (!leaf.secret) return directValue === "" ? undefined : directValue;
  const path = env[`${leaf.env}_FILE`];
  if (path === undefined || path === "") return directValue === "" ? undefined : directValue;
  if (directValue !== undefined && directValue !== "") {
    problems.push({ name: leaf.env, message: `is set, and so is ${leaf.env}_FILE; keep one of the two.` });
    return undefined;
  }
  try {
    return readRegularText(path, secretBytes).trim();
  } catch (cause) {
    problems.push({
      name: `${leaf.env}_FILE`,
      message: `can't read "${path}" (${explainUnreadable(cause)}); expected a readable file with ${leaf.expected}.`,
    });
    return undefined;
  }
}

/** Parses the value of an environment variable, for the schema to validate. */
export function parseText(leaf: SettingsLeaf, text: string): unknown {
  if (leaf.format === "text") return text;
  if (leaf.format === "list" && !text.trimStart().startsWith("[")) {
    return text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  }
  try {
    return JSON5.parse(text);
  } catch {
    // Not JSON5: the schema reports the expected value and the text found.
    return text;
  }
}
