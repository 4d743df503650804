import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { SettingsError, type GivenSettings } from "#daemon/settings/problem.ts";
import { resolveSettings, type SettingsDefinition, type SettingsSources } from "#daemon/settings/settings.ts";
import { getValueAt } from "#daemon/settings/value.ts";
import { loadDefinition, type ServiceName } from "./service-definitions.ts";
import { listCommonSettings } from "./settings-help.ts";

/** One setting as a service would read it: its path in the settings file, its value, and the value's source. */
export type DumpedSetting = Readonly<{ key: string; value: unknown; origin: string }>;

export type ConfigDumpOptions = Readonly<{
  service: ServiceName;
  file: string | undefined;
  /** Print only settings that are not at their default. */
  changed: boolean;
  json: boolean;
}>;

/** Prints a service's effective settings and returns the exit status. If the service would reject the settings, prints only the given ones and returns 1. */
export async function printConfigDump(
  { service, file, changed, json }: ConfigDumpOptions,
  { mask, output }: Readonly<{ mask: Mask; output: CommandOutput }>,
): Promise<number> {
  const definition = await loadDefinition(service);
  const print = (all: readonly DumpedSetting[]) => {
    const shown = changed ? all.filter(({ origin }) => origin !== "default") : all;
    output.out(json ? `${JSON.stringify(shown, undefined, 2)}\n` : formatDump(shown));
  };
  try {
    print(dumpSettings(definition, { env: process.env, file }, { mask }));
    return exitStatus.clean;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    if (error.given !== undefined) print(dumpGiven(definition, error.given));
    output.error(`${error.message}\n`);
    return exitStatus.error;
  }
}

/** Lists only the given settings, for a service that would reject them: the defaults depend on the missing settings. */
function dumpGiven(
  { service, schema }: SettingsDefinition,
  { settings, origin }: GivenSettings,
): readonly DumpedSetting[] {
  return listSettingsLeaves(service, schema).flatMap((leaf) => {
    const value: unknown = getValueAt(settings, leaf.path);
    const shown = leaf.secret ? "[secret]" : value;
    return value === undefined ? [] : [{ key: leaf.path.join("."), value: shown, origin: origin(leaf) }];
  });
}

/** The usual settings first. One without value and default is null; a secret is `[secret]`. */
export function dumpSettings(
  definition: SettingsDefinition,
  sources: SettingsSources,
  { mask }: Readonly<{ mask: Mask }>,
): readonly DumpedSetting[] {
  const { settings, origin } = resolveSettings(definition, sources);
  mask.hide(settings);
  const leaves = listSettingsLeaves(definition.service, definition.schema);
  const usual = listCommonSettings(definition, leaves);
  return [...usual, ...leaves.filter((leaf) => !usual.includes(leaf))].map((leaf) => {
    const value = getValueAt(settings, leaf.path) ?? null;
    const shown = leaf.secret && value !== null ? "[secret]" : value;
    return { key: leaf.path.join("."), value: shown, origin: origin(leaf) };
  });
}

function formatDump(settings: readonly DumpedSetting[]): string {
  return settings.map(({ key, value, origin }) => `${key} = ${JSON.stringify(value)}  # ${origin}\n`).join("");
}
