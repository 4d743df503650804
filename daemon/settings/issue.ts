import type { z } from "zod";
import { describeExpected, fallback } from "./describe-issue.ts";
import { createMask } from "../secrets/mask.ts";
import type { Environment } from "./environment.ts";
import type { SettingsFile } from "./file.ts";
import { describeExpectedAt, type SettingsLeaf, getValueAt } from "./leaf.ts";
import { type SettingsProblem, findNearestWord } from "./problem.ts";

/** Origin of the values that a schema validated. */
export type SettingsOrigin = Readonly<{
  schema: z.ZodObject;
  /** All values, nested, as passed to the schema. */
  raw: unknown;
  /** Names of the environment variables that supplied a value. */
  fromEnvironment: ReadonlySet<string>;
  env: Environment;
  file: SettingsFile | undefined;
}>;

/**
 * Describes schema issues for the author of the settings. A setting already in `reported` (e.g. its secret file can't be read) is not
 * reported as missing too.
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
    const leaf = leaves.find((candidate) => candidate.path.every((key, index) => path[index] === key));
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => describeUnknownKey([...path, key], leaf, leaves, origin));
    }
    if (leaf === undefined) return [{ name: formatKeyPlace(path, origin), message: `${describeExpected(issue)}.` }];
    if (names.has(leaf.env) || names.has(`${leaf.env}_FILE`)) return [];
    const isGiven = getValueAt(origin.raw, leaf.path) !== undefined;
    const variable = findSecretFile(leaf, origin) === undefined ? leaf.env : `${leaf.env}_FILE`;
    const name = isGiven && !origin.fromEnvironment.has(leaf.env) ? formatKeyPlace(path, origin) : variable;
    return [{ name, message: isGiven ? describeValue(leaf, path, origin, issue) : describeMissing(leaf, origin) }];
  });
}

/** Describes an unknown key, and suggests the most likely one. */
function describeUnknownKey(
  path: readonly string[],
  leaf: SettingsLeaf | undefined,
  leaves: readonly SettingsLeaf[],
  origin: SettingsOrigin,
): SettingsProblem {
  const siblings = leaves.filter((candidate) => path.slice(0, -1).every((key, index) => candidate.path[index] === key));
  const words = [...new Set(siblings.flatMap((candidate) => candidate.path[path.length - 1] ?? []))];
  const meant = findNearestWord(path.at(-1) ?? "", words);
  const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
  const advice = meant === undefined ? "; correct the key or remove it." : " Correct the key or remove it.";
  const isEnvironment = leaf !== undefined && origin.fromEnvironment.has(leaf.env);
  const name = isEnvironment ? `${leaf.env}: ${path.slice(leaf.path.length).join(".")}` : formatKeyPlace(path, origin);
  return { name, message: `no such setting${hint}${advice}` };
}

function describeMissing(leaf: SettingsLeaf, { file }: SettingsOrigin): string {
  const expected = leaf.expected === "" ? "expected a value" : `expected ${leaf.expected}`;
  const inFile = file === undefined || leaf.secret ? "" : `, or ${leaf.path.join(".")} in ${file.path}`;
  const ways = leaf.secret ? `${leaf.env}, or ${leaf.env}_FILE with the path of a file with it` : leaf.env;
  return `missing; ${expected}${formatPurpose(leaf)}. Set ${ways}${inFile}.`;
}

function describeValue(
  leaf: SettingsLeaf,
  path: readonly string[],
  origin: SettingsOrigin,
  issue: z.core.$ZodIssue,
): string {
  const { raw, schema } = origin;
  const inner = path.slice(leaf.path.length);
  const at = inner.length > 0 ? ` at ${inner.join(".")}` : "";
  const custom = issue.code === "custom" && issue.message !== fallback ? issue.message : undefined;
  const expected = describeExpectedAt(schema, path);
  const own = expected === undefined ? describeExpected(issue) : `expected ${expected}`;
  const found = getValueAt(raw, path);
  const shown = leaf.secret ? describeSecret(found, findSecretFile(leaf, origin)) : formatMasked(found);
  return `${found === undefined ? "nothing" : `found ${shown}`}${at}; ${custom ?? own}${formatPurpose(leaf)}.`;
}

/** Path of the file that supplied a secret; undefined if none did. */
function findSecretFile(leaf: SettingsLeaf, { env }: SettingsOrigin): string | undefined {
  return (leaf.secret && env[`${leaf.env}_FILE`]) || undefined;
}

function describeSecret(value: unknown, file: string | undefined): string {
  if (file === undefined) return "an invalid value";
  return value === "" ? `an empty file "${file}"` : `an invalid value in "${file}"`;
}

/** Formats a value as JSON, masking credentials and keys in its URLs. */
function formatMasked(value: unknown): string | undefined {
  const mask = createMask();
  mask.hide(value);
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : mask.text(text);
}

function formatPurpose({ description }: SettingsLeaf): string {
  return description === "" ? "" : ` (${description})`;
}

function formatKeyPlace(path: readonly string[], { file }: SettingsOrigin): string {
  return file === undefined ? path.join(".") : file.locate(path);
}
