import { escapeCell } from "#daemon/markdown.ts";
import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import { toEnvironmentName, listSettingsLeaves, type SettingsLeaf } from "#daemon/settings/leaf.ts";
import { listEssentialLeaves } from "../settings-help.ts";

/** Prints the settings reference of the documentation, in Markdown, from the schemas that the services read. */
export function printSettingsReference(definitions: readonly SettingsDefinition[]): string {
  return [
    "# Settings",
    "",
    "Printed from the services' schemas by `npm run docs`; do not edit. Each setting is an environment variable, and the key in",
    "brackets in a service's JSON5 settings file. The environment wins over the file; an empty variable counts as absent. A secret",
    "is given in the environment or as `<NAME>_FILE`, the path of a file that holds it, never in a settings file.",
    "",
    ...definitions.flatMap(formatService),
  ].join("\n");
}

function formatService(definition: SettingsDefinition): string[] {
  const leaves = listSettingsLeaves(definition.service, definition.schema);
  const essentials = listEssentialLeaves(definition, leaves);
  return [
    `## \`gatehouse ${definition.service}\``,
    "",
    `Settings file: \`--settings <file>\` or \`${toEnvironmentName(definition.service, ["settingsPath"])}\`.`,
    "",
    ...(essentials.length === 0 ? [] : [`Set first: ${essentials.map(({ env }) => `\`${env}\``).join(", ")}.`, ""]),
    "| setting | what it is for | expected | default |",
    "|---|---|---|---|",
    ...leaves.map(formatSettingRow),
    "",
  ];
}

function formatSettingRow(leaf: SettingsLeaf): string {
  const fallback = leaf.default === undefined ? (leaf.required ? "required" : "none") : `\`${leaf.default}\``;
  const notes = leaf.secret ? `${leaf.expected} (secret)` : leaf.expected;
  const cells = [`\`${leaf.env}\` [\`${leaf.path.join(".")}\`]`, leaf.description, notes, fallback];
  return `| ${cells.map(escapeCell).join(" | ")} |`;
}
