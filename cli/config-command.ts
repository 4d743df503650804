import { Argument, Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/mask.ts";
import { Secret } from "#daemon/secret.ts";
import { settingsLeaves } from "#daemon/settings/leaf.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { resolveSettings, type SettingsDefinition, type SettingsSources } from "#daemon/settings/settings.ts";
import { valueAt } from "#daemon/settings/value.ts";
import { serviceDefinitions } from "./service-definitions.ts";
import { terminalOutput } from "./terminal-output.ts";

/** One setting as a service would read it: its path in the settings file, its value, and where the value came from. */
export type DumpedSetting = Readonly<{ key: string; value: unknown; origin: string }>;

/** Makes `gatehouse config`, whose `dump` shows what a service would start with and why. */
export function configCommand({ mask }: Readonly<{ mask: Mask }>) {
  const names = serviceDefinitions.map(({ service }) => service);
  const dump = new Command("dump")
    .summary("Show every setting of a service with its value and where that came from")
    .description(
      "Reads the settings as the service would, from this environment and the settings file, and prints each with its origin: default, the file and line, or the variable. A secret is shown as [secret]. Exits 1 when the service would refuse them.",
    )
    .addArgument(new Argument("<service>", "whose settings").choices(names))
    .option("--settings <file>", "JSON5 file with the settings; environment variables win over it")
    .option("--changed", "only what is not by default")
    .option("--json", "one JSON document: [{ key, value, origin }]")
    .action((service, { settings: file, changed, json }) => {
      const definition = serviceDefinitions.find((candidate) => candidate.service === service);
      if (definition === undefined) throw new Error(`no definition of ${service}`);
      const { out, error } = terminalOutput({ mask });
      try {
        const all = dumpSettings(definition, { env: process.env, file }, { mask });
        const shown = changed === true ? all.filter(({ origin }) => origin !== "default") : all;
        out(json === true ? `${JSON.stringify(shown, undefined, 2)}\n` : dumpText(shown));
      } catch (cause) {
        if (!(cause instanceof SettingsError)) throw cause;
        error(`${cause.message}\n`);
        process.exitCode = 1;
      }
    });
  return new Command("config").summary("Show what a service's settings come to").addCommand(dump);
}

/**
 * Every setting of a service, in the order of its schema. A value that is not set and has no default is null; a secret is `[secret]`.
 *
 * @throws {SettingsError} when the service would refuse them.
 */
export function dumpSettings(
  definition: SettingsDefinition,
  sources: SettingsSources,
  { mask }: Readonly<{ mask: Mask }>,
): readonly DumpedSetting[] {
  const { settings, origin } = resolveSettings(definition, sources);
  mask.hide(settings);
  return settingsLeaves(definition.service, definition.schema).map((leaf) => {
    const value = valueAt(settings, leaf.path) ?? null;
    return { key: leaf.path.join("."), value: value instanceof Secret ? value.toJSON() : value, origin: origin(leaf) };
  });
}

function dumpText(settings: readonly DumpedSetting[]): string {
  return settings.map(({ key, value, origin }) => `${key} = ${JSON.stringify(value)}  # ${origin}\n`).join("");
}
