import { getValueAt, type SettingsLeaf } from "./leaf.ts";
import type { NameOrigin, SettingsProblem } from "./problem.ts";

/**
 * Finds settings that have no effect, because the one that they need (`enabled` of their section, or `needs`) is off by default. One that
 * is explicitly off is intended, and accepted.
 */
export function findUnusedSettings(
  leaves: readonly SettingsLeaf[],
  settings: object,
  origin: NameOrigin,
): readonly SettingsProblem[] {
  const byPath = new Map(leaves.map((leaf) => [leaf.path.join("."), leaf]));
  return leaves.flatMap((leaf) => {
    const needed = byPath.get((leaf.needs ?? [...leaf.path.slice(0, -1), "enabled"]).join("."));
    if (needed === undefined || needed === leaf || [leaf, needed].map(origin).indexOf("default") !== 1) return [];
    const value = getValueAt(settings, needed.path);
    if (value === true) return [];
    const what = value === false ? "set it to true, or to false to leave this unused" : "set it";
    const message = `has no effect, because ${needed.env} is not set; ${what}, or remove this setting.`;
    return [{ name: origin(leaf), message }];
  });
}
