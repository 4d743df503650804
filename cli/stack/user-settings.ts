import { readSettingsFile } from "#daemon/settings/file.ts";
import { listSettingsLeaves, toEnvironmentName, getValueAt } from "#daemon/settings/leaf.ts";
import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import type { Variables } from "./child-environment.ts";

type Environment = Readonly<Record<string, string>>;

/** Removes the stack's own values for settings in the user's settings file, because a service's environment takes precedence over its file. */
export function preferFile({ service, schema }: SettingsDefinition, own: Environment, user: Variables): Environment {
  const path = user[toEnvironmentName(service, ["settingsPath"])];
  if (path === undefined || path === "") return own;
  const leaves = listSettingsLeaves(service, schema);
  // The service reports what is wrong with the file.
  const values = readSettingsFile(path, leaves, [])?.values;
  const given = new Set(leaves.filter((leaf) => getValueAt(values, leaf.path) !== undefined).map(({ env }) => env));
  return Object.fromEntries(Object.entries(own).filter(([name]) => !given.has(name)));
}
