import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Environment variables passed to every program; a trailing `*` matches all names with that prefix. */
const inheritedNames = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR"];

/** Prefix of Gatehouse's own settings, including secrets, which no program gets. */
const ownPrefix = "GATEHOUSE_";

/** Selects the environment variables for a program: a small fixed set, and those listed in `passes`. All others, such as a control token, are not passed on. */
export function selectVariables(
  passes: readonly string[] = [],
  environment: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  const patterns = [...inheritedNames, ...passes];
  const isPassed = (name: string) =>
    !name.startsWith(ownPrefix) &&
    patterns.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isPassed(name)));
}

/** Finds the file that a shell with this process's PATH runs for a command name; undefined if there is none. */
export function findOnPath(name: string): string | undefined {
  const candidates = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name));
  return candidates.find((place) => existsSync(place));
}
