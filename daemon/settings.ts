import { z } from "zod";
import { readJson5File } from "./json5-file.ts";
import { readEnvironment, unknownVariables, type Environment } from "./settings-environment.ts";
import { describeIssues, valueAt } from "./settings-issue.ts";
import { environmentName, settingsLeaves, type SettingsLeaf } from "./settings-leaf.ts";
import { SettingsError, type SettingsProblem } from "./settings-problem.ts";

/** What one service can be told: its name and the schema of its settings. The deployment uses the same object to check. */
export type SettingsDefinition<Schema extends z.ZodObject = z.ZodObject> = Readonly<{
  service: string;
  schema: Schema;
}>;

/** A group of settings, present with its defaults when nothing of it is set. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as never);
}

const common = {
  log: section({
    level: z
      .enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"])
      .default("info")
      .describe("Least severe level that is logged")
      .meta({ expected: "one of fatal, error, warn, info, debug, trace, silent" }),
  }),
  shutdown: section({
    graceMs: z
      .int()
      .min(100)
      .max(600_000)
      .default(5_000)
      .describe("How long a stop may take before the process ends all the same")
      .meta({ expected: "milliseconds, a whole number from 100 to 600000" }),
  }),
};

/**
 * Defines the settings of a service; `log` and `shutdown` are added, because every service has them.
 *
 * @example
 * export const facilitatorSettings = defineSettings("facilitator", {
 *   listen: section({ port: port.default(3000).describe("Port of the facilitator's HTTP listener") }),
 * });
 */
export function defineSettings<Shape extends z.core.$ZodLooseShape>(service: string, shape: Shape) {
  return { service, schema: z.strictObject({ ...shape, ...common }) } as const;
}

/** Where settings are read from. */
export type SettingsSources = Readonly<{
  env: Environment;
  /** JSON5 file with the same keys, nested; the environment wins over it. */
  file?: string | undefined;
}>;

/**
 * Reads a service's settings once: defaults, then the JSON5 file, then the environment. An empty environment variable counts
 * as absent. A secret comes from the environment or from the file that `<NAME>_FILE` names, never from the settings file.
 *
 * @throws {SettingsError} with every problem found, each with its name, what was found and what was expected.
 */
export function readSettings<Schema extends z.ZodObject>(
  definition: SettingsDefinition<Schema>,
  sources: SettingsSources,
): z.output<Schema> {
  const leaves = settingsLeaves(definition.service, definition.schema);
  const problems: SettingsProblem[] = [...unknownVariables(definition.service, leaves, sources.env)];
  const raw: Record<string, unknown> = {};
  const file = sources.file ?? (sources.env[environmentName(definition.service, ["settingsPath"])] || undefined);
  if (file !== undefined) Object.assign(raw, withoutSecrets(readSettingsFile(file, problems), leaves, file, problems));
  const fromEnvironment = new Set<string>();
  for (const { leaf, value } of readEnvironment(leaves, sources.env, problems)) {
    fromEnvironment.add(leaf.env);
    assign(raw, leaf.path, value);
  }
  const parsed = definition.schema.safeParse(raw);
  if (!parsed.success) {
    problems.push(...describeIssues(parsed.error.issues, leaves, { raw, fromEnvironment, file }, problems));
  }
  if (problems.length > 0 || !parsed.success) throw new SettingsError(definition.service, problems);
  return deepFreeze(parsed.data);
}

function readSettingsFile(path: string, problems: SettingsProblem[]): Record<string, unknown> {
  const result = readJson5File(path);
  if (!result.ok) {
    problems.push({ name: path, message: result.message });
    return {};
  }
  if (typeof result.value !== "object" || result.value === null || Array.isArray(result.value)) {
    problems.push({ name: path, message: "expected one object with the settings; write { … } around them." });
    return {};
  }
  return structuredClone(result.value) as Record<string, unknown>;
}

/** Takes secrets out of what a settings file says: they belong in no file of settings (specification, "Authentication"). */
function withoutSecrets(
  values: Record<string, unknown>,
  leaves: readonly SettingsLeaf[],
  file: string,
  problems: SettingsProblem[],
): Record<string, unknown> {
  for (const { path, env } of leaves.filter((leaf) => leaf.secret && valueAt(values, leaf.path) !== undefined)) {
    problems.push(
      {
        name: `${file}: ${path.join(".")}`,
        message: `is a secret, which may not stand in a settings file; remove it.`,
      },
      { name: env, message: `give the secret here, or the path of a file that holds it in ${env}_FILE.` },
    );
    assign(values, path, undefined);
  }
  return values;
}

function assign(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const child = target[key];
  const next = typeof child === "object" && child !== null ? (child as Record<string, unknown>) : {};
  target[key] = next;
  assign(next, rest, value);
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}
