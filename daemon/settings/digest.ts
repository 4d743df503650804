import { hash } from "node:crypto";
import type { Environment } from "./environment.ts";
import { listSettingsLeaves } from "./leaf.ts";
import type { SettingsDefinition } from "./settings.ts";

/**
 * Shows whether two environments say the same to a service: SHA-256, in hexadecimal, of its variables that are not empty. Of a secret the name of
 * its file counts and never its value, which a digest of a short one would give away.
 */
export function digestSettings({ service, schema }: SettingsDefinition, environment: Environment): string {
  const given = listSettingsLeaves(service, schema).flatMap(({ env, secret }) =>
    (secret ? [`${env}_FILE`] : [env]).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === "" ? [] : [[name, value] as const];
    }),
  );
  return hash("sha256", JSON.stringify(given.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}
