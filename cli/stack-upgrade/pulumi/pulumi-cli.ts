import { copyFile, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { sendSignal } from "#daemon/process/send-signal.ts";
import { PulumiError, type PulumiRun, type RunPulumi } from "./pulumi-process.ts";
import { findProcessesByArguments } from "./running-programs.ts";

/** Values of a stack's configuration by full key; undefined for a secret. */
export type ConfigValues = Readonly<Record<string, string | undefined>>;

/** Values to set by full key; undefined removes the key. */
export type ConfigChange = Readonly<Record<string, string | undefined>>;

const stepSchema = z.object({ op: z.string(), urn: z.string() });

export type PreviewedStep = Readonly<z.output<typeof stepSchema>>;

/** Pulumi commands that an upgrade runs for one stack. Each throws {@link PulumiError}. */
export type PulumiCli = ReturnType<typeof createPulumiCli>;

const shortMs = 120_000;
const previewMs = 600_000;

/** A secret has no value without --show-secrets. */
const configSchema = z.record(z.string(), z.object({ value: z.unknown().optional() }));
const whoamiSchema = z.object({ url: z.string() });
const exportSchema = z.object({
  deployment: z.object({
    resources: z.array(z.object({ urn: z.string(), type: z.string(), id: z.string().optional() })).default([]),
  }),
});
const previewSchema = z.object({ steps: z.array(stepSchema).default([]) });

export function createPulumiCli(
  { stack, configFile }: Readonly<{ stack: string; configFile: string }>,
  { run }: Readonly<{ run: RunPulumi }>,
) {
  const quiet = ["--non-interactive", "--color", "never"];
  const commonArguments = ["--stack", stack, ...quiet];
  const up = ["up", "--yes", "--skip-preview", "--config-file", configFile, ...commonArguments];
  const query = async <Shape>(shape: z.ZodType<Shape>, args: readonly string[], withinMs = shortMs): Promise<Shape> => {
    const { data } = shape.safeParse(parseJson(await run({ args, withinMs })));
    if (data !== undefined) return data;
    throw new PulumiError(`pulumi ${args[0] ?? ""} printed something unexpected; is this version of Pulumi supported?`);
  };
  const setInFile = async (file: string, change: ConfigChange): Promise<void> => {
    const config = (...args: readonly string[]) =>
      run({ args: ["config", ...args, "--config-file", file, ...commonArguments], withinMs: shortMs });
    const set = Object.entries(change).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}`]));
    const removedKeys = Object.keys(change).filter((key) => change[key] === undefined);
    if (set.length > 0) await config("set-all", ...set.flatMap((pair) => ["--plaintext", pair]));
    for (const key of removedKeys) await config("rm", key);
  };
  return {
    /** Reads the address of the backend that holds the state, without secrets: another backend may have a stack with the same name. */
    readBackend: async () => formatBackend((await query(whoamiSchema, ["whoami", "--json", ...quiet])).url),
    readConfig: async (): Promise<ConfigValues> => {
      const values = await query(configSchema, ["config", "--json", "--config-file", configFile, ...commonArguments]);
      return Object.fromEntries(Object.entries(values).map(([key, { value }]) => [key, formatValue(value)]));
    },
    readOutputs: () => query(z.unknown(), ["stack", "output", "--json", ...commonArguments]),
    /** Previews an update with a changed configuration; leaves the stack's own unchanged. */
    preview: async (change: ConfigChange): Promise<readonly PreviewedStep[]> => {
      await using directory = await mkdtempDisposable(join(tmpdir(), "gatehouse-preview-"));
      const file = join(directory.path, "Pulumi.preview.yaml");
      await copyFile(configFile, file);
      await setInFile(file, change);
      try {
        return (await query(previewSchema, ["preview", "--json", "--config-file", file, ...commonArguments], previewMs))
          .steps;
      } catch (error) {
        throw error instanceof PulumiError ? explainPreview(error) : error;
      }
    },
    setConfig: (change: ConfigChange) => setInFile(configFile, change),
    update: async (options: Pick<PulumiRun, "withinMs" | "onLine">): Promise<void> =>
      void (await run({ args: up, ...options })),
    /** Finds the processes of this stack's `pulumi up`, by any run of the command. */
    findUpdates: () => findProcessesByArguments(up),
    interrupt: (pid: number): void => sendSignal(pid, "SIGINT"),
    refresh: async (urns: readonly string[], withinMs: number): Promise<void> => {
      const targets = urns.flatMap((urn) => ["--target", urn]);
      const args = ["refresh", "--yes", "--skip-preview", "--config-file", configFile, ...targets, ...commonArguments];
      await run({ args, withinMs });
    },
    /** Reads the ids of a type's resources from the stack's state, by URN: a container's in the engine, or `namespace/name` in a cluster. */
    readIds: async (type: string): Promise<ReadonlyMap<string, string>> => {
      const { deployment } = await query(exportSchema, ["stack", "export", ...commonArguments]);
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

/** Extracts a preview's errors from the document that it prints before the summary. */
function explainPreview(error: PulumiError): PulumiError {
  const reportedMessages = [...error.said.matchAll(/"message": ("(?:[^"\\]|\\.)*"),\s*"severity": "error"/g)];
  if (reportedMessages.length === 0) return error;
  const messages = reportedMessages
    .map(([, text = '""']) => stripVTControlCharacters(JSON.parse(text) as string).trim())
    .join("\n");
  return new PulumiError(`pulumi preview failed: ${messages.slice(0, shownChars)}`, error.said, { cause: error });
}

/** Formats a value that Pulumi printed as JSON: text as is, a YAML object as JSON. */
function formatValue(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}
