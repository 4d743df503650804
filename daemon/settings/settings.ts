import { hash } from "node:crypto";
import { z } from "zod";
import { commandSections, serviceSections } from "./common-settings.ts";
import { readEnvironment, findUnknownVariables, type Environment } from "./environment.ts";
import { readSettingsFile } from "./file.ts";
import { describeIssues } from "./issue.ts";
import { toEnvironmentName, listSettingsLeaves, type SettingsLeaf, assignAt, getValueAt } from "./leaf.ts";
import { SettingsError, type NameOrigin, type SettingsProblem } from "./problem.ts";
import { findUnusedSettings } from "./unused-settings.ts";

/** A service's name and the schema of its settings. The deployment validates with the same object. */
export type SettingsDefinition<Schema extends z.ZodObject = z.ZodObject> = Readonly<{
  service: string;
  schema: Schema;
  /** The few settings that most deployments set, by their path in the settings file; listed first in help and documentation. */
  common: readonly string[];
}>;

/**
 * Defines the settings of a service; adds `log`, `start` and `shutdown`, which every service has. `common` lists the few
 * settings that most deployments set, by their path in the settings file; required settings are always included.
 *
 * @example
 * export const facilitatorSettings = defineSettings("facilitator", ["listen.port"], {
 *   listen: section({ port: port.default(3000).describe("Port of the facilitator's HTTP listener") }),
 * });
 */
export function defineSettings<Shape extends z.core.$ZodLooseShape>(
  service: string,
  common: readonly string[],
  shape: Shape,
) {
  // The service's own sections come first, and win: it may have its own shutdown.
  return defineCommandSettings(service, common, { ...shape, ...serviceSections, ...shape });
}

/** Defines the settings of a command that runs to its end, like {@link defineSettings}; adds `log`. */
export function defineCommandSettings<Shape extends z.core.$ZodLooseShape>(
  service: string,
  common: readonly string[],
  shape: Shape,
) {
  return { service, common, schema: z.strictObject({ ...shape, ...commandSections }) } as const;
}

export type SettingsSources = Readonly<{
  env: Environment;
  /** JSON5 file with the same keys, nested; the environment takes precedence. */
  file?: string | undefined;
}>;

/**
 * Reads a service's settings once: defaults, then the JSON5 file, then the environment. An empty environment variable counts as absent. A
 * secret comes from the environment or from the file specified by `<NAME>_FILE`, never from the settings file.
 *
 * @throws {SettingsError} with every problem found: the setting's name, the value found and the value expected.
 *
 * @example
 * import { gatewaySettings, readSettings } from "gatehouse-evm/settings";
 *
 * const env = { GATEHOUSE_GATEWAY_NODE_HTTP_URL: "http://127.0.0.1:8545", GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1672" };
 * console.log(readSettings(gatewaySettings, { env }).public.port); // 8545
 */
export function readSettings<Schema extends z.ZodObject>(
  definition: SettingsDefinition<Schema>,
  sources: SettingsSources,
): z.output<Schema> {
  return resolveSettings(definition, sources).settings;
}

/** A service's settings, the origin of each, and those that have no effect. */
export type ResolvedSettings<Schema extends z.ZodObject> = Readonly<{
  settings: z.output<Schema>;
  origin: NameOrigin;
  unused: readonly SettingsProblem[];
}>;

/** Reads settings like {@link readSettings}, with the origin of each value. Throws the same errors. */
export function resolveSettings<Schema extends z.ZodObject>(
  definition: SettingsDefinition<Schema>,
  sources: SettingsSources,
): ResolvedSettings<Schema> {
  const leaves = listSettingsLeaves(definition.service, definition.schema);
  const problems: SettingsProblem[] = findUnknownVariables(definition.service, leaves, sources.env);
  const path = sources.file ?? (sources.env[toEnvironmentName(definition.service, ["settingsPath"])] || undefined);
  const file = path === undefined ? undefined : readSettingsFile(path, leaves, problems);
  // If the file can't be read, all its settings are lost: don't report them as missing.
  if (path !== undefined && file === undefined) throw new SettingsError(definition.service, problems);
  const raw = file?.values ?? {};
  const fromEnvironment = new Set<string>();
  for (const { leaf, value } of readEnvironment(leaves, sources.env, problems)) {
    fromEnvironment.add(leaf.env);
    assignAt(raw, leaf.path, value);
  }
  const parsed = definition.schema.safeParse(raw);
  const origin = (leaf: SettingsLeaf) => {
    if (fromEnvironment.has(leaf.env)) return sources.env[`${leaf.env}_FILE`] ? `${leaf.env}_FILE` : leaf.env;
    return file !== undefined && getValueAt(file.values, leaf.path) !== undefined ? file.locate(leaf.path) : "default";
  };
  if (!parsed.success) {
    problems.push(
      ...describeIssues(
        parsed.error.issues,
        leaves,
        { ...definition, raw, fromEnvironment, env: sources.env, file },
        problems,
      ),
    );
  } else problems.push(...findPortConflicts(leaves, parsed.data, origin));
  if (problems.length > 0 || !parsed.success) {
    throw new SettingsError(definition.service, problems, { settings: raw, origin });
  }
  const unused = findUnusedSettings(leaves, parsed.data, origin);
  return { settings: makeReadonly(parsed.data), origin, unused };
}

function makeReadonly<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) makeReadonly(child);
  return Object.freeze(value);
}

/** Finds listeners of one service with the same host and port. Each listener is a section with `host` and `port`. */
export function findPortConflicts(
  leaves: readonly SettingsLeaf[],
  settings: object,
  origin: NameOrigin,
): readonly SettingsProblem[] {
  const listeners = leaves.flatMap((leaf) => {
    const section = leaf.path.slice(0, -1);
    const [host, port] = [getValueAt(settings, [...section, "host"]), getValueAt(settings, leaf.path)];
    if (leaf.path.at(-1) !== "port" || typeof host !== "string" || typeof port !== "number") return [];
    return [{ leaf, host, port }];
  });
  return listeners.flatMap((listener, index) => {
    const rival = listeners.slice(0, index).find((other) => isSameListener(other, listener));
    if (rival === undefined) return [];
    const isDefault = origin(listener.leaf) === "default";
    const [changed, other] = isDefault ? [rival.leaf, listener.leaf] : [listener.leaf, rival.leaf];
    return [
      { name: origin(changed), message: `found ${listener.port}, which ${other.env} also uses; change one of them.` },
    ];
  });
}

/** Checks whether two listeners can't both listen: same port, and an address in common. Port 0 means any free port. */
export function isSameListener(a: Listener, b: Listener): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const isWildcard = [a, b].some(({ host }) => host === "0.0.0.0" || host === "::");
  return isWildcard || a.host === b.host;
}

type Listener = Readonly<{ host: string; port: number }>;

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
