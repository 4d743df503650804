import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Variables that every program gets; a name that ends with `*` stands for all that begin so. */
const always = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR"];

/** Prefix of Gatehouse's own settings, secrets among them, which no program gets. */
const ownPrefix = "GATEHOUSE_";

/**
 * Selects the variables of this process's environment that a program which it runs gets: a fixed few, and those that `passes` names. The rest, such as a control
 * token, is nobody else's.
 */
export function selectVariables(
  passes: readonly string[] = [],
  environment: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  const patterns = [...always, ...passes];
  const isPassed = (name: string) =>
    !name.startsWith(ownPrefix) &&
    patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isPassed(name)));
}

/** Finds the file that a shell with this process's PATH runs by a name; undefined if there is none. */
export function findOnPath(name: string): string | undefined {
  const places = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name));
  return places.find((place) => existsSync(place));
}
