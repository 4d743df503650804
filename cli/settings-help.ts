import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import { toEnvironmentName, listSettingsLeaves, type SettingsLeaf } from "#daemon/settings/leaf.ts";

/** Max line length, in terminal columns. */
const columns = 80;

export type HelpDetail = "usual" | "all";

/** Formats a service's settings for its `--help`: name, purpose, expected values, default. */
export function formatSettingsHelp(definition: SettingsDefinition, extent: HelpDetail): string {
  const leaves = listSettingsLeaves(definition.service, definition.schema);
  const shown = extent === "all" ? leaves : listCommonSettings(definition, leaves);
  const otherLeaves = leaves.filter((leaf) => !shown.includes(leaf));
  return [
    "",
    extent === "all" ? "Settings:" : "Settings to begin with:",
    "",
    ...shown.map(formatSetting),
    ...(otherLeaves.length === 0
      ? []
      : [
          `${otherLeaves.length} more have defaults; "gatehouse ${definition.service} --help --all" explains each:`,
          "",
          ...formatGroups(otherLeaves),
          "",
        ]),
    "Each is an environment variable; all but secrets may also be set in the JSON5 file of",
    `--settings (${toEnvironmentName(definition.service, ["settingsPath"])}), as the key in brackets.`,
  ].join("\n");
}

/** Lists the few settings that most deployments set: required ones, then those that the service marks as usual, in its order. */
export function listCommonSettings(
  { common }: SettingsDefinition,
  leaves: readonly SettingsLeaf[],
): readonly SettingsLeaf[] {
  const requiredLeaves = leaves.filter((leaf) => leaf.required);
  const named = common.flatMap((key) => leaves.filter((leaf) => !leaf.required && leaf.path.join(".") === key));
  return [...requiredLeaves, ...named];
}

function formatSetting(leaf: SettingsLeaf): string {
  const notes = [
    leaf.expected,
    leaf.default === undefined ? "" : `default ${leaf.default}`,
    leaf.required ? "required" : "",
    leaf.secret ? `secret: or ${leaf.env}_FILE with a file's path` : "",
  ].filter((note) => note !== "");
  const lines = [`  ${leaf.env}  [${leaf.path.join(".")}]`, ...wrapText("     ", leaf.description)];
  if (notes.length > 0) lines.push(...wrapText("     ", notes.join("; ")));
  return `${lines.join("\n")}\n`;
}

/** Formats the settings' second keys grouped by first key, each group in a wrapped paragraph. */
function formatGroups(leaves: readonly SettingsLeaf[]): readonly string[] {
  const groups = Map.groupBy(leaves, ({ path }) => path[0] ?? "");
  return [...groups].flatMap(([group, members]) => {
    const names = new Set(members.map(({ path: [, second] }) => second ?? group));
    return wrapText(`  ${group.padEnd(14)}`, [...names].join(", "));
  });
}

function wrapText(label: string, text: string): readonly string[] {
  const lines = [label];
  for (const word of text.split(" ")) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= columns) lines[lines.length - 1] = line;
    else lines.push(`${" ".repeat(label.length)} ${word}`);
  }
  return lines;
}
