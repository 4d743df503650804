import type { z } from "zod";
import type { SettingsLeaf } from "./settings-leaf.ts";
import type { SettingsProblem } from "./settings-problem.ts";

/** Where the values that a schema judged came from. */
export type SettingsOrigin = Readonly<{
  /** All values, nested, as they were handed to the schema. */
  raw: unknown;
  /** Names of the environment variables that gave a value. */
  fromEnvironment: ReadonlySet<string>;
  file: string | undefined;
}>;

/**
 * What the issues of a schema mean for the person who wrote the settings. A setting that `reported` names already (its secret
 * file can't be read, say) is not called missing as well.
 */
export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  leaves: readonly SettingsLeaf[],
  origin: SettingsOrigin,
  reported: readonly SettingsProblem[],
): SettingsProblem[] {
  const names = new Set(reported.map((problem) => problem.name));
  return issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        name: inFile(origin.file, [...path, key]),
        message: "no such setting; correct the key or remove it.",
      }));
    }
    const leaf = leaves.find((candidate) => candidate.path.every((key, index) => path[index] === key));
    if (leaf === undefined) return [{ name: inFile(origin.file, path), message: issue.message }];
    if (names.has(leaf.env) || names.has(`${leaf.env}_FILE`)) return [];
    const found = valueAt(origin.raw, path);
    const where = origin.fromEnvironment.has(leaf.env) || found === undefined ? leaf.env : inFile(origin.file, path);
    return [{ name: where, message: describeValue(leaf, path, found, issue) }];
  });
}

function describeValue(leaf: SettingsLeaf, path: readonly string[], found: unknown, issue: z.core.$ZodIssue): string {
  const purpose = leaf.description === "" ? "" : ` (${leaf.description})`;
  const custom = issue.code === "custom" && issue.message !== "Invalid input" ? issue.message : undefined;
  const inner = path.slice(leaf.path.length);
  const at = inner.length > 0 ? ` at ${inner.join(".")}` : "";
  const expected = custom ?? (leaf.expected === "" || at !== "" ? issue.message : `expected ${leaf.expected}`);
  if (found === undefined) {
    const ways = leaf.secret ? `${leaf.env}, or ${leaf.env}_FILE with the path of a file that holds it` : leaf.env;
    return `missing${at}; ${expected}${purpose}. Set ${ways}.`;
  }
  const shown = leaf.secret ? "a value that does not fit" : JSON.stringify(found);
  return `found ${shown}${at}; ${expected}${purpose}.`;
}

function inFile(file: string | undefined, path: readonly string[]): string {
  const key = path.join(".");
  return file === undefined ? key : `${file}: ${key}`;
}

/** The value at a path of keys, undefined where the path breaks off. */
export function valueAt(raw: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    raw,
  );
}
