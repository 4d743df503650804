import { wrapLines } from "#daemon/markdown.ts";
import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import { toEnvironmentName, listSettingsLeaves, type SettingsLeaf } from "#daemon/settings/leaf.ts";
import { listCommonSettings } from "../settings-help.ts";

/** Values implied by a setting's key suffix, which the reference explains once. */
const typicalValues: readonly (readonly [end: RegExp, expected: string])[] = [
  [/Ms$/, "milliseconds, a whole number from 1 to 86400000"],
  [/Seconds$/, "seconds, a whole number from 1 to 86400"],
  [/Bytes$/, "a number of bytes, 1 or more"],
  [/[pP]ort$/, "a port number from 0 to 65535 (0: any free port)"],
  [/[hH]ost$/, "an IP address or host name to listen on"],
  [/Url$/, "an http:// or https:// URL"],
  [/(?:Path|Directory)$/, "a file system path"],
  [/./, "a whole number, 1 or more"],
  [/./, "true or false"],
];

/** Service whose settings another service embeds under a key of that name. */
const embedded = "gateway";

/** Formats the settings reference of the docs, in Markdown, from the schemas that the services read. */
export function renderSettingsReference(definitions: readonly SettingsDefinition[]): string {
  return [
    "# Settings",
    "",
    "Printed from the services' schemas by `npm run docs`; do not edit.",
    "",
    "Set a key in the service's JSON5 file, or as an environment variable: `node.httpUrl` of the sidecar is `GATEHOUSE_SIDECAR_NODE_HTTP_URL`.",
    "The environment overrides the file; an empty variable counts as absent. A secret is given in the environment or as `<NAME>_FILE`, the path of",
    "a file that contains it, never in a settings file. The default is in brackets.",
    "",
    "Where an entry does not list the accepted values, the name does: `…Ms` milliseconds from 1 to 86400000, `…Seconds` seconds from 1 to 86400,",
    "`…Bytes` 1 or more, `port` 0 to 65535 (0: any free port), `host` an address or host name to listen on, `…Url` an http:// or https:// URL,",
    "`…Path` and `…Directory` a file system path; with a default of `true` or `false` either, with another number any whole number from 1.",
    "A range is in the unit of the name; only a `…Ratio` takes fractions.",
    "",
    ...definitions.flatMap((definition, at) => formatService(definition, definitions.slice(0, at), definitions)),
  ].join("\n");
}

function formatService(
  definition: SettingsDefinition,
  earlier: readonly SettingsDefinition[],
  all: readonly SettingsDefinition[],
): string[] {
  const { service } = definition;
  const leaves = listSettingsLeaves(service, definition.schema);
  const commonLeaves = listCommonSettings(definition, leaves);
  const inner = service === embedded ? undefined : all.find((one) => one.service === embedded);
  const nestedLeaves = inner === undefined ? [] : leaves.filter((leaf) => isNested(leaf, inner));
  const rest = leaves.filter((leaf) => !nestedLeaves.includes(leaf) && !commonLeaves.includes(leaf));
  const sharedLeaves = Map.groupBy(rest, (leaf) => earlier.find((one) => hasSame(one, leaf))?.service);
  const own = Map.groupBy(sharedLeaves.get(undefined) ?? [], ({ path: [section = ""] }) => section);
  return [
    `## \`gatehouse ${service}\``,
    "",
    `Settings file: \`--settings <file>\` or \`${toEnvironmentName(service, ["settingsPath"])}\`. Prefix of the variables: \`${toEnvironmentName(service, [""])}\`.`,
    "",
    ...(nestedLeaves.length === 0
      ? []
      : [
          `\`${embedded}.\` takes every setting of [\`gatehouse ${embedded}\`](#gatehouse-${embedded}) that is not listed here: \`${embedded}.public.port\` for \`public.port\`.`,
          "",
        ]),
    ...formatSection("Usual settings", commonLeaves),
    ...[...sharedLeaves].flatMap(([other, same]) => (other === undefined ? [] : formatShared(other, same))),
    ...[...own].flatMap(([section, some]) => formatSection(section, some)),
  ];
}

/** Lists the settings that this service shares with one printed before, with the same description. */
function formatShared(other: string, same: readonly SettingsLeaf[]): readonly string[] {
  return [...wrapLines(`As of [\`gatehouse ${other}\`](#gatehouse-${other}): ${listKeys(same)}.`), ""];
}

function formatSection(section: string, leaves: readonly SettingsLeaf[]): readonly string[] {
  return [`### ${section}`, "", ...leaves.flatMap(formatSetting), ""];
}

/** Returns whether the embedded service has the same setting (its key without the first part), with the same description. */
function isNested(leaf: SettingsLeaf, inner: SettingsDefinition): boolean {
  const [first, ...path] = leaf.path;
  return first === embedded && hasSame(inner, { ...leaf, path });
}

function hasSame({ service, schema }: SettingsDefinition, leaf: SettingsLeaf): boolean {
  const text = formatSetting(leaf).join("\n");
  return listSettingsLeaves(service, schema).some((one) => formatSetting(one).join("\n") === text);
}

function listKeys(leaves: readonly SettingsLeaf[]): string {
  return leaves.map(({ path }) => `\`${path.join(".")}\``).join(", ");
}

function formatSetting(leaf: SettingsLeaf): readonly string[] {
  const key = leaf.path.join(".");
  const isLong = (leaf.default?.length ?? 0) > 200;
  const fallback = isLong
    ? " (default: `gatehouse config dump`)"
    : leaf.default === undefined
      ? leaf.required
        ? " (required)"
        : ""
      : ` (\`${leaf.default}\`)`;
  const isTypical = typicalValues.some(([end, expected]) => end.test(key) && expected === leaf.expected);
  const notes = [isTypical ? "" : shortenRange(leaf.expected), leaf.secret ? "secret" : ""].filter(
    (note) => note !== "",
  );
  const acceptedNote = notes.length === 0 ? "" : ` *${escape(notes.join("; "))}*`;
  return wrapLines(`- \`${key}\`${fallback}: ${escape(leaf.description)}.${acceptedNote}`);
}

/** Omits from a range what the key already implies: the unit, and that the value is a number. */
function shortenRange(expected: string): string {
  return expected.replace(/^(?:\w+(?: \w+)?, )?a (?:whole |port )?number (?:of bytes )?(?=from )/, "");
}

function escape(text: string): string {
  return text.replaceAll(/[*<]/g, "\\$&");
}
