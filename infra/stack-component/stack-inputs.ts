import type { Input } from "@pulumi/pulumi";
import { z } from "zod";
import { ConfigError, type ConfigProblem } from "../config/config-problem.ts";
import { configSchema, type StackConfig } from "../config/config-schema.ts";
import { imageReference } from "../config/config-types.ts";
import { findImageKey } from "../services/row-keys.ts";
import { findUnconfiguredImages } from "../services/stack-images.ts";
import { parseConfig } from "../stack-config.ts";

const prefix = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/)
  .meta({ expected: "up to 40 lowercase letters, digits and dashes" })
  .describe(
    "Prefix for the names of all resources, on an engine or in a cluster; default: the component's name, a dash and the Pulumi stack's name",
  );

/** The inputs of the component `Stack`: a stack's configuration keys, except the ones for building images, because a component does not build images. */
export const inputsSchema = configSchema.omit({ baseImage: true, imageArchitecture: true }).extend({
  prefix: prefix.optional(),
  gatehouseImage: imageReference.describe("Gatehouse image reference, from this package's release"),
  devnetImage: imageReference
    .optional()
    .describe("Devnet node image reference; required without nodeImage, and without routes"),
});

type StackValues = z.input<typeof inputsSchema>;

/** Inputs of the component `Stack`; each may be another resource's output. */
export type StackInputs = Readonly<{ [Key in keyof StackValues]: Input<StackValues[Key]> }>;

export type ParsedInputs = Readonly<{ config: StackConfig; prefix: string }>;

/**
 * Parses inputs whose values are all known.
 *
 * @throws {ConfigError} with every problem found: the input, its actual value and the allowed values.
 */
export function parseInputs(
  inputs: Readonly<Record<string, unknown>>,
  { name, stack }: Readonly<{ name: string; stack: string }>,
): ParsedInputs {
  const { prefix: given, ...values } = inputs;
  const parsedPrefix = prefix.safeParse(given ?? `${name}-${stack}`);
  if (!parsedPrefix.success) throw new ConfigError([describePrefix(given ?? `${name}-${stack}`)]);
  const config = parseConfig(toText(values));
  const unnamed = findUnconfiguredImages(config).map((image) => ({
    key: findImageKey(image),
    message: "missing; a component does not build images. Specify one in a registry.",
  }));
  if (unnamed.length > 0) throw new ConfigError(unnamed);
  return { config, prefix: parsedPrefix.data };
}

function describePrefix(found: unknown): ConfigProblem {
  return { key: "prefix", message: `found ${String(found)}; expected ${String(prefix.meta()?.["expected"])}.` };
}

/** Formats values as in Pulumi's stack configuration: as text, with lists and objects in JSON. */
function toText(values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    given.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}
