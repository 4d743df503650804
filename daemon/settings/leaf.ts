import { z } from "zod";
import { isFixed } from "./section.ts";

/** Text form of a value (environment, secret file), which determines how it is parsed for the schema. */
export type LeafFormat = "text" | "list" | "json5";

/** A setting: a leaf of a service's settings schema. */
export type SettingsLeaf = Readonly<{
  /** Keys from the root of the settings file, e.g. `["listen", "port"]`. */
  path: readonly string[];
  /** The environment variable, e.g. `GATEHOUSE_FACILITATOR_LISTEN_PORT`. */
  env: string;
  format: LeafFormat;
  secret: boolean;
  required: boolean;
  /** The setting's purpose; empty if the schema has no description. */
  description: string;
  /** Form of a valid value; empty if the schema doesn't specify one. */
  expected: string;
  /** The default as written in settings; absent if there is none. */
  default?: string;
  /** Path of the setting without which this one has no effect, from `meta({ needs })`. */
  needs?: readonly string[];
}>;

/** Converts a setting's path to its environment variable: `GATEHOUSE_<SERVICE>_<PATH>`, camel case split by underscores. */
export function toEnvironmentName(service: string, path: readonly string[]): string {
  const words = [service, ...path].map((part) => part.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/-/g, "_"));
  return ["GATEHOUSE", ...words].join("_").toUpperCase();
}

/** Lists all settings of a schema, in the schema's order. */
export function listSettingsLeaves(service: string, schema: z.ZodObject): readonly SettingsLeaf[] {
  return collect(service, [], schema);
}

function collect(service: string, path: readonly string[], object: z.ZodObject): SettingsLeaf[] {
  return Object.entries(object.shape).flatMap(([key, child]) => {
    if (isFixed(child)) return [];
    const here = [...path, key];
    const layers = listLayers(child as z.ZodType);
    const core = layers.at(-1);
    if (core instanceof z.ZodObject && collectMetadata(layers).leaf !== true) return collect(service, here, core);
    return [describeLeaf(service, here, layers)];
  });
}

function describeLeaf(service: string, path: readonly string[], layers: readonly z.ZodType[]): SettingsLeaf {
  const meta = collectMetadata(layers);
  const fallback = layers.find((layer) => layer instanceof z.ZodDefault || layer instanceof z.ZodPrefault);
  const optional = layers.some((layer) => layer instanceof z.ZodOptional);
  return {
    path,
    env: toEnvironmentName(service, path),
    format: findFormat(layers.at(-1)),
    secret: meta.secret === true,
    required: fallback === undefined && !optional,
    description: meta.description ?? "",
    expected: typeof meta.expected === "string" ? meta.expected : "",
    ...(fallback === undefined ? {} : { default: JSON.stringify(fallback.def.defaultValue) }),
    ...(typeof meta.needs === "string" ? { needs: locateNeeded(path, meta.needs) } : {}),
  };
}

/** Locates a setting named by one that needs it: `otherSection.key`, or `key` in the same section. */
function locateNeeded(path: readonly string[], needed: string): readonly string[] {
  const keys = needed.split(".");
  return [...path.slice(0, -keys.length), ...keys];
}

/** Describes a valid value at a path, according to its schema; undefined if the schema doesn't specify it. */
export function describeExpectedAt(schema: z.ZodType, path: readonly string[]): string | undefined {
  const [key, ...rest] = path;
  const layers = listLayers(schema);
  if (key === undefined) {
    const { expected } = collectMetadata(layers);
    return typeof expected === "string" ? expected : undefined;
  }
  const inner = findInnerSchema(layers.at(-1), key);
  return inner === undefined ? undefined : describeExpectedAt(inner, rest);
}

function findInnerSchema(core: z.ZodType | undefined, key: string): z.ZodType | undefined {
  if (core instanceof z.ZodObject) return (core.shape as Readonly<Record<string, z.ZodType>>)[key];
  if (core instanceof z.ZodArray) return core.element as z.ZodType;
  return core instanceof z.ZodRecord ? (core.valueType as z.ZodType) : undefined;
}

/** Lists the schema and all schemas that it wraps, outermost first. */
function listLayers(schema: z.ZodType): z.ZodType[] {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodReadonly
  ) {
    return [schema, ...listLayers(schema.def.innerType as z.ZodType)];
  }
  if (schema instanceof z.ZodPipe) return [schema, ...listLayers(schema.def.in as z.ZodType)];
  return [schema];
}

/** Merges the metadata of all layers; an outer layer wins. */
function collectMetadata(layers: readonly z.ZodType[]): z.core.GlobalMeta {
  return Object.assign({}, ...layers.map((layer) => layer.meta() ?? {}).toReversed()) as z.core.GlobalMeta;
}

function findFormat(core: z.ZodType | undefined): LeafFormat {
  if (core instanceof z.ZodArray) return "list";
  if (
    core instanceof z.ZodNumber ||
    core instanceof z.ZodBoolean ||
    core instanceof z.ZodRecord ||
    core instanceof z.ZodObject ||
    core instanceof z.ZodUnion
  ) {
    return "json5";
  }
  return "text";
}

/** Returns the value at a path of keys; undefined if the path doesn't exist. */
export function getValueAt(raw: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    raw,
  );
}

/** Sets the value at a path of keys; creates parent objects, replacing non-objects. */
export function assignAt(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const child = target[key];
  const next = typeof child === "object" && child !== null ? (child as Record<string, unknown>) : {};
  target[key] = next;
  assignAt(next, rest, value);
}
