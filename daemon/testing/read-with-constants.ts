import type { z } from "zod";
import type { Environment } from "../settings/environment.ts";
import { listFixed } from "../settings/section.ts";
import { toEnvironmentName } from "../settings/leaf.ts";
import { readSettings, type SettingsDefinition } from "../settings/settings.ts";

/** Reads a service's settings in a test, whose environment may also override constants (`fixed`). */
export function readWithConstants<Schema extends z.ZodObject>(
  definition: SettingsDefinition<Schema>,
  environment: Environment,
): z.output<Schema> {
  const env = { ...environment };
  const constants = listFixed(definition.schema).flatMap(({ path, value }) => {
    const name = toEnvironmentName(definition.service, path);
    const text = env[name];
    delete env[name];
    return text === undefined ? [] : [{ path, value: typeof value === "string" ? text : Number(text) }];
  });
  const settings = readSettings(definition, { env });
  return constants.reduce((some, { path, value }) => replaceAt(some, path, value) as z.output<Schema>, settings);
}

function replaceAt(settings: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  const previousSettings = settings as Readonly<Record<string, unknown>>;
  return { ...previousSettings, [key]: replaceAt(previousSettings[key], rest, value) };
}
