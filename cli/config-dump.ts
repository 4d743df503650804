import { exitStatus, type CommandOutput } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { listSettingsLeaves, type SettingsLeaf, getValueAt } from "#daemon/settings/leaf.ts";
import { SettingsError, type UnvalidatedSettings, type SettingsProblem } from "#daemon/settings/problem.ts";
import { resolveSettings, type SettingsDefinition, type SettingsSources } from "#daemon/settings/settings.ts";
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

/** Prints a service's effective settings and returns the exit status. Returns 1 if the service would reject them. */
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
    if (error.unvalidated !== undefined) print(dumpUnvalidated(definition, error.unvalidated, error.problems));
    output.error(`${error.message}\n`);
    return exitStatus.error;
  }
}

/** Lists the settings of a service that would reject them, each as given, missing, or at the schema's default. */
function dumpUnvalidated(
  definition: SettingsDefinition,
  { settings, origin }: UnvalidatedSettings,
  problems: readonly SettingsProblem[],
): readonly DumpedSetting[] {
  const reportedNames = new Set(problems.map(({ name }) => name));
  return listLeaves(definition).map((leaf) => {
    const given: unknown = getValueAt(settings, leaf.path);
    if (given === undefined && reportedNames.has(leaf.env)) return showLeaf(leaf, null, "missing");
    const value: unknown = given ?? (leaf.default === undefined ? null : JSON.parse(leaf.default));
    return showLeaf(leaf, value, origin(leaf));
  });
}

/** The usual settings come first. A setting with neither a value nor a default is null; a secret is `[secret]`. */
export function dumpSettings(
  definition: SettingsDefinition,
  sources: SettingsSources,
  { mask }: Readonly<{ mask: Mask }>,
): readonly DumpedSetting[] {
  const { settings, origin } = resolveSettings(definition, sources);
  mask.hide(settings);
  return listLeaves(definition).map((leaf) => showLeaf(leaf, getValueAt(settings, leaf.path) ?? null, origin(leaf)));
}

function listLeaves(definition: SettingsDefinition): readonly SettingsLeaf[] {
  const leaves = listSettingsLeaves(definition.service, definition.schema);
  const commonSettings = listCommonSettings(definition, leaves);
  return [...commonSettings, ...leaves.filter((leaf) => !commonSettings.includes(leaf))];
}

function showLeaf({ path, secret }: SettingsLeaf, value: unknown, origin: string): DumpedSetting {
  return { key: path.join("."), value: secret && value !== null ? "[secret]" : value, origin };
}

function formatDump(settings: readonly DumpedSetting[]): string {
  return settings.map(({ key, value, origin }) => `${key} = ${JSON.stringify(value)}  # ${origin}\n`).join("");
}
