import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import { environmentName, settingsLeaves, type SettingsLeaf } from "#daemon/settings/leaf.ts";

/** The settings of a service as its `--help` shows them: name, purpose, what is expected, default. */
export function settingsHelp(definition: SettingsDefinition): string {
  const leaves = settingsLeaves(definition.service, definition.schema);
  const example = leaves[0];
  return [
    "",
    "Settings (environment variables; all but secrets may also stand in the settings file, as the nested key in brackets):",
    "",
    ...leaves.map(settingHelp),
    `A settings file is JSON5; name it with --settings or ${environmentName(definition.service, ["settingsPath"])}.`,
    ...(example === undefined
      ? []
      : [`The environment wins over the file: ${example.env} over ${example.path.join(".")}.`]),
  ].join("\n");
}

function settingHelp(leaf: SettingsLeaf): string {
  const notes = [
    leaf.expected,
    leaf.default === undefined ? "" : `default ${leaf.default}`,
    leaf.required ? "required" : "",
    leaf.secret ? `secret: or ${leaf.env}_FILE with a file's path` : "",
  ].filter((note) => note !== "");
  const lines = [`  ${leaf.env}  [${leaf.path.join(".")}]`, `      ${leaf.description}`];
  if (notes.length > 0) lines.push(`      ${notes.join("; ")}`);
  return `${lines.join("\n")}\n`;
}
