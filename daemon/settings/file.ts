import { readJson5File } from "../files/json5-file.ts";
import { findJson5Line } from "../files/json5-tree.ts";
import { type SettingsLeaf, assignAt, getValueAt } from "./leaf.ts";
import type { SettingsProblem } from "./problem.ts";

/** Values of a settings file, and their positions. */
export type SettingsFile = Readonly<{
  path: string;
  /** Nested, as the schema expects them; without secrets. */
  values: Record<string, unknown>;
  /** Formats the position of a key: the file, the line, the key. */
  locate: (key: readonly string[]) => string;
}>;

/** Reads a settings file; undefined if it can't be read at all. Adds that error, and any secret in the file, to `problems`. */
export function readSettingsFile(
  path: string,
  leaves: readonly SettingsLeaf[],
  problems: SettingsProblem[],
): SettingsFile | undefined {
  const result = readJson5File(path);
  if (!result.ok) {
    problems.push({ name: path, message: result.message });
    return undefined;
  }
  if (typeof result.value !== "object" || result.value === null || Array.isArray(result.value)) {
    problems.push({ name: path, message: "expected one object with the settings; write { … } around them." });
    return undefined;
  }
  const values = structuredClone(result.value) as Record<string, unknown>;
  const describeLocation = (key: readonly string[]) =>
    `${path}: line ${findJson5Line(result.text, key)}: ${key.join(".")}`;
  problems.push(...takeSecrets(values, leaves, describeLocation));
  return { path, values, locate: describeLocation };
}

/** Removes secrets from a settings file's values: settings files must not contain any (specification, "Authentication"). */
function takeSecrets(
  values: Record<string, unknown>,
  leaves: readonly SettingsLeaf[],
  describeLocation: SettingsFile["locate"],
): readonly SettingsProblem[] {
  const found = leaves.filter((leaf) => leaf.secret && getValueAt(values, leaf.path) !== undefined);
  return found.flatMap(({ path, env }) => {
    assignAt(values, path, undefined);
    const message = "is a secret, which a settings file may not contain; remove it.";
    const where = `set the secret here, or set ${env}_FILE to the path of a file with it.`;
    return [
      { name: describeLocation(path), message },
      { name: env, message: where },
    ];
  });
}
