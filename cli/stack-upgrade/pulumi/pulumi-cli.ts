import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { identifyBackend, type PulumiBackend } from "./pulumi-backend.ts";
import { PulumiError, type PulumiRun, type RunPulumi } from "./pulumi-process.ts";

/** Values of a stack's configuration by full key; undefined for a secret. */
export type ConfigValues = Readonly<Record<string, string | undefined>>;

/** Values to set by full key; undefined removes the key. */
export type ConfigChange = Readonly<Record<string, string | undefined>>;

const stepShape = z.object({ op: z.string(), urn: z.string() });

/** A change that an update would make to a resource. */
export type PreviewedStep = Readonly<z.output<typeof stepShape>>;

/** One `pulumi up`; see {@link PulumiRun}. */
export type PulumiUpdate = Readonly<Required<Pick<PulumiRun, "withinMs" | "onLine" | "onBegin">>>;

/** Part of a stack's state that an upgrade reads. */
export type PulumiState = Readonly<{
  /** Keyed by URN: container ids in the engine, and StatefulSet locations in the cluster (`namespace/name`). */
  containers: ReadonlyMap<string, string>;
  statefulSets: ReadonlyMap<string, string>;
  /** URNs of resources being created when an update was killed. */
  pendingCreations: readonly string[];
}>;

/** Pulumi commands that an upgrade runs for one stack. Each throws {@link PulumiError}. */
export type PulumiCli = Readonly<{
  /** Reads which backend holds the state: another backend may have a stack with the same name. */
  readBackend: () => Promise<PulumiBackend>;
  readConfig: () => Promise<ConfigValues>;
  readOutputs: () => Promise<unknown>;
  /** Previews an update with a changed configuration; leaves the stack's own unchanged. */
  preview: (change: ConfigChange) => Promise<readonly PreviewedStep[]>;
  setConfig: (change: ConfigChange) => Promise<void>;
  update: (options: PulumiUpdate) => Promise<void>;
  /** Refreshes these resources in Pulumi's state from their real state. */
  refresh: (urns: readonly string[], withinMs: number) => Promise<void>;
  readState: () => Promise<PulumiState>;
  /** Removes any lock of the stack; only for a lock whose update is known to have ended. */
  removeLocks: () => Promise<void>;
}>;

const shortMs = 120_000;
const previewMs = 600_000;

/** A secret has no value without --show-secrets. */
const configShape = z.record(z.string(), z.object({ value: z.unknown().optional() }));
const whoamiShape = z.object({ url: z.string() });
const exportShape = z.object({
  deployment: z.object({
    resources: z.array(z.object({ urn: z.string(), type: z.string(), id: z.string().optional() })).default([]),
    pending_operations: z
      .array(z.object({ type: z.string(), resource: z.object({ urn: z.string() }) }))
      .nullish()
      .transform((operations) => operations ?? []),
  }),
});
const previewShape = z.object({ steps: z.array(stepShape).default([]) });

/** Creates a client for a stack via Pulumi's command line. */
export function createPulumiCli(
  { stack, configFile }: Readonly<{ stack: string; configFile: string }>,
  { run }: Readonly<{ run: RunPulumi }>,
): PulumiCli {
  const common = ["--stack", stack, "--non-interactive", "--color", "never"];
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
      return identifyBackend(parse(whoamiShape, await run({ args, withinMs: shortMs }), "whoami --json").url);
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
    update: async (options) => {
      const args = ["up", "--yes", "--skip-preview", "--config-file", configFile, ...common];
      await run({ args, ...options });
    },
    refresh: async (urns, withinMs) => {
      const targets = urns.flatMap((urn) => ["--target", urn]);
      const args = ["refresh", "--yes", "--skip-preview", "--config-file", configFile, ...targets, ...common];
      await run({ args, withinMs });
    },
    readState: async () => {
      const args = ["stack", "export", ...common];
      const { deployment } = parse(exportShape, await run({ args, withinMs: shortMs }), "stack export");
      const listIds = (wanted: string) =>
        new Map(
          deployment.resources.flatMap(({ urn, id, type }) =>
            type === wanted && id !== undefined ? [[urn, id] as const] : [],
          ),
        );
      const pending = deployment.pending_operations.filter(({ type }) => type === "creating");
      return {
        containers: listIds("docker:index/container:Container"),
        statefulSets: listIds("kubernetes:apps/v1:StatefulSet"),
        pendingCreations: pending.map(({ resource }) => resource.urn),
      };
    },
    removeLocks: async () => void (await run({ args: ["cancel", "--yes", ...common], withinMs: shortMs })),
  };
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
  throw new PulumiError(`pulumi ${what} printed something else than expected; is this version of Pulumi supported?`);
}
