import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { PulumiError, type PulumiRun, type RunPulumi } from "./pulumi-process.ts";
import { findProcessesByArguments } from "./running-programs.ts";

/** Values of a stack's configuration by full key; undefined for a secret. */
export type ConfigValues = Readonly<Record<string, string | undefined>>;

/** Values to set by full key; undefined removes the key. */
export type ConfigChange = Readonly<Record<string, string | undefined>>;

const stepShape = z.object({ op: z.string(), urn: z.string() });

/** A change that an update would make to a resource. */
export type PreviewedStep = Readonly<z.output<typeof stepShape>>;

/** One `pulumi up`; see {@link PulumiRun}. */
export type PulumiUpdate = Readonly<Required<Pick<PulumiRun, "withinMs" | "onLine">>>;

/** Pulumi commands that an upgrade runs for one stack. Each throws {@link PulumiError}. */
export type PulumiCli = Readonly<{
  /** Reads the address of the backend that holds the state, without secrets: another backend may have a stack with the same name. */
  readBackend: () => Promise<string>;
  readConfig: () => Promise<ConfigValues>;
  readOutputs: () => Promise<unknown>;
  /** Previews an update with a changed configuration; leaves the stack's own unchanged. */
  preview: (change: ConfigChange) => Promise<readonly PreviewedStep[]>;
  setConfig: (change: ConfigChange) => Promise<void>;
  update: (options: PulumiUpdate) => Promise<void>;
  /** Finds the processes of this stack's `pulumi up`, by any run of the command. */
  findUpdates: () => Promise<readonly number[]>;
  /** Refreshes these resources in Pulumi's state from their real state. */
  refresh: (urns: readonly string[], withinMs: number) => Promise<void>;
  /** Reads the ids of a type's resources from the stack's state, by URN: a container's in the engine, or `namespace/name` in a cluster. */
  readIds: (type: string) => Promise<ReadonlyMap<string, string>>;
}>;

const shortMs = 120_000;
const previewMs = 600_000;

/** A secret has no value without --show-secrets. */
const configShape = z.record(z.string(), z.object({ value: z.unknown().optional() }));
const whoamiShape = z.object({ url: z.string() });
const exportShape = z.object({
  deployment: z.object({
    resources: z.array(z.object({ urn: z.string(), type: z.string(), id: z.string().optional() })).default([]),
  }),
});
const previewShape = z.object({ steps: z.array(stepShape).default([]) });

/** Creates a client for a stack via Pulumi's command line. */
export function createPulumiCli(
  { stack, configFile }: Readonly<{ stack: string; configFile: string }>,
  { run }: Readonly<{ run: RunPulumi }>,
): PulumiCli {
  const common = ["--stack", stack, "--non-interactive", "--color", "never"];
  const up = ["up", "--yes", "--skip-preview", "--config-file", configFile, ...common];
  const config = (file: string, ...words: readonly string[]) =>
    run({ args: ["config", ...words, "--config-file", file, ...common], withinMs: shortMs });
  const setIn = async (file: string, change: ConfigChange) => {
    const set = Object.entries(change).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}`]));
    const removed = Object.keys(change).filter((key) => change[key] === undefined);
    if (set.length > 0) await config(file, "set-all", ...set.flatMap((pair) => ["--plaintext", pair]));
    for (const key of removed) await config(file, "rm", key);
  };
  return {
    readBackend: async () => {
      const args = ["whoami", "--json", "--non-interactive", "--color", "never"];
      return formatBackend(parse(whoamiShape, await run({ args, withinMs: shortMs }), "whoami --json").url);
    },
    readConfig: async () => {
      const values = parse(configShape, await config(configFile, "--json"), "config --json");
      return Object.fromEntries(Object.entries(values).map(([key, { value }]) => [key, formatValue(value)]));
    },
    readOutputs: async () =>
      parseJson(await run({ args: ["stack", "output", "--json", ...common], withinMs: shortMs })),
    preview: async (change) => {
      const directory = await mkdtemp(join(tmpdir(), "gatehouse-preview-"));
      try {
        const file = join(directory, "Pulumi.preview.yaml");
        await copyFile(configFile, file);
        await setIn(file, change);
        const args = ["preview", "--json", "--config-file", file, ...common];
        return parse(previewShape, await run({ args, withinMs: previewMs }), "preview --json").steps;
      } catch (error) {
        throw error instanceof PulumiError ? explainPreview(error) : error;
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
    setConfig: (change) => setIn(configFile, change),
    update: async (options) => void (await run({ args: up, ...options })),
    findUpdates: () => findProcessesByArguments(up),
    refresh: async (urns, withinMs) => {
      const targets = urns.flatMap((urn) => ["--target", urn]);
      const args = ["refresh", "--yes", "--skip-preview", "--config-file", configFile, ...targets, ...common];
      await run({ args, withinMs });
    },
    readIds: async (type) => {
      const args = ["stack", "export", ...common];
      const { deployment } = parse(exportShape, await run({ args, withinMs: shortMs }), "stack export");
      const found = deployment.resources.filter((resource) => resource.type === type);
      return new Map(found.flatMap(({ urn, id }) => (id === undefined ? [] : [[urn, id] as const])));
    },
  };
}

/** A directory's address, which contains no user. */
const directoryAddress = /^file:\/\/[^@/]*(?:\/.*)?$/;

/**
 * Formats a backend's address without user, password and options. For Pulumi Cloud, only the origin is kept, to which Pulumi appends the
 * page of the logged-in user. Pure.
 */
export function formatBackend(address: string): string {
  if (directoryAddress.test(address)) return address;
  const url = URL.parse(address);
  // Any part of an unparsable address may be the password.
  if (url === null) return `${/^[a-z][a-z\d+.-]*(?=:\/\/)/i.exec(address)?.[0] ?? "unknown"}:…`;
  return /^https?:$/.test(url.protocol) ? url.origin : `${url.protocol}//${url.host}${url.pathname}`;
}

const shownChars = 2_000;

/** Extracts a preview's errors from its printed document, which precedes a summary. */
function explainPreview(error: PulumiError): PulumiError {
  const reported = [...error.said.matchAll(/"message": ("(?:[^"\\]|\\.)*"),\s*"severity": "error"/g)];
  if (reported.length === 0) return error;
  const words = reported
    .map(([, text = '""']) => stripVTControlCharacters(JSON.parse(text) as string).trim())
    .join("\n");
  return new PulumiError(`pulumi preview failed: ${words.slice(0, shownChars)}`, error.said, { cause: error });
}

/** Formats a value that Pulumi printed as JSON: text as is, a YAML object as JSON. */
function formatValue(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function parse<Shape>(shape: z.ZodType<Shape>, text: string, what: string): Shape {
  const parsed = shape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new PulumiError(`pulumi ${what} printed something unexpected; is this version of Pulumi supported?`);
}
