import { hash } from "node:crypto";
import type { Environment } from "./environment.ts";
import { listSettingsLeaves } from "./leaf.ts";
import type { SettingsDefinition } from "./settings.ts";

/**
 * Computes a digest that shows whether two environments are equivalent for a service: the SHA-256, in hexadecimal, of the service's
 * non-empty variables. For a secret, includes the name of its file, never the value, because a digest of a short value would reveal it.
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
