import {
  getOrganization,
  log,
  ResourceHook,
  runtime,
  StackReference,
  type Resource,
  type ResourceHookArgs,
} from "@pulumi/pulumi";
import { hash } from "node:crypto";
import { z } from "zod";
import {
  findUpdateInterruption,
  describeRemoval,
  describeReplacement,
  findServiceOfLive,
  findWatched,
  type Notice,
  type Watched,
} from "./interruptions.ts";

/** Output that lists the resources to watch in the stack's next preview. */
export const watchedOutput = "watchedAtPreview";

export type InterruptionWatch = Readonly<{
  /** Call this after registering every resource. Reports removed resources and returns the value of {@link watchedOutput}. */
  end: () => Promise<readonly string[]>;
}>;

/** Output that contains digests of the settings and files that a stack gave its services (`Gatehouse.configuration`). */
const configurationOutput = "configuration";

const namesSchema = z.array(z.string());
const givenSchema = z.record(z.string(), z.object({ files: z.record(z.string(), z.string()) }));
const uploadsSchema = z.tuple([z.object({ content: z.string() })]);
const bundleSchema = z.record(z.string(), z.string());

/**
 * Makes a plain `pulumi preview` warn, at the resource concerned, about changes that would interrupt the node or drop data. Call this
 * before registering any resource. Pulumi also runs hooks in a preview, including the creation hook for a replacement (Pulumi
 * documentation, "Resource hooks"). The creation hook is not told whether the resource already exists. The outputs of the stack's last
 * update show this, and so does the engine, which is needed because a destroyed stack still has outputs. A deletion hook would know, but
 * `pulumi destroy` rejects a stack that has one unless it runs the program.
 */
export function watchInterruptions({
  project,
  stack,
  exists = async () => true,
}: Readonly<{
  project: string;
  stack: string;
  /** Whether a resource exists on the engine; if absent, the resources from the last update are assumed to exist. */
  exists?: (type: string, name: string) => Promise<boolean>;
}>): InterruptionWatch {
  const readOutput = createOutputReader(`${getOrganization()}/${project}/${stack}`);
  const deployed = readOutput(watchedOutput).then((value) => namesSchema.safeParse(value).data ?? []);
  const given = readOutput(configurationOutput).then((value) => givenSchema.safeParse(value).data ?? {});
  const watched: string[] = [];
  runtime.registerStackTransformation(({ resource, type, name, props, opts }) => {
    const what = findWatched(type, name);
    if (what === undefined) return undefined;
    watched.push(name);
    const isDeployed = async () => (await deployed).includes(name) && (await exists(type, name));
    const changedFiles = async () => findChangedFiles((await given)[findServiceOfLive(name) ?? ""]?.files, props);
    const hooks = { ...opts.hooks, ...createHooks({ what, type, resource, name, isDeployed, changedFiles }) };
    return { props, opts: { ...opts, hooks } };
  });
  return {
    end: async () => {
      const gone = (await deployed).filter((name) => !watched.includes(name));
      const notices = gone.flatMap((name) => describeRemoval(name) ?? []);
      if (runtime.isDryRun()) for (const notice of notices) await log.warn(notice);
      return [...new Set(watched)].toSorted();
    },
  };
}

/**
 * Creates a reader for the outputs of a stack's last update, for previews only. Other runs report nothing, and an update that reads the
 * state while writing it fails occasionally, because the file backend does not write it atomically ("failed to load checkpoint: EOF").
 */
function createOutputReader(stack: string): (output: string) => Promise<unknown> {
  if (!runtime.isDryRun()) return async () => undefined;
  const reference = new StackReference(stack);
  return async (output) => (await reference.getOutputDetails(output)).value;
}

type Subject = Readonly<{
  what: Watched;
  type: string;
  resource: Resource;
  name: string;
  /** Whether the resource already exists, in which case a creation is a replacement. */
  isDeployed: () => Promise<boolean>;
  /** Names of the live files that differ from the stack's last update; undefined if unknown. */
  changedFiles: () => Promise<readonly string[] | undefined>;
}>;

function findChangedFiles(
  before: Readonly<Record<string, string>> | undefined,
  props: Readonly<Record<string, unknown>>,
): readonly string[] | undefined {
  const [upload] = uploadsSchema.safeParse(props["uploads"]).data ?? [];
  if (before === undefined || upload === undefined) return undefined;
  const changed = Object.entries(bundleSchema.parse(JSON.parse(upload.content)))
    .map(([name, content]) => ({ name, sha256: hash("sha256", content) }))
    .filter(({ name, sha256 }) => before[name] !== sha256);
  return changed.length === 0 ? undefined : changed.map(({ name }) => name);
}

function createHooks({ what, type: kind, resource, name, isDeployed, changedFiles }: Subject) {
  const hook = (moment: string, finding: (args: ResourceHookArgs) => Promise<Notice | undefined>) => {
    const report = async (args: ResourceHookArgs) => {
      const found = runtime.isDryRun() ? await finding(args) : undefined;
      // Not awaited: it waits for the registration of the resource, which in turn waits for this hook.
      if (found !== undefined) void log[found.level](found.text, resource);
    };
    return new ResourceHook(`${kind.split(":").at(-1)}-${name}-${moment}`, report, {
      onDryRun: true,
      ignoreErrors: true,
    });
  };
  return {
    beforeCreate: [
      hook("creation", async ({ type }) =>
        (await isDeployed())
          ? describeReplacement(what, name, { type, changedFiles: what === "live" ? await changedFiles() : undefined })
          : undefined,
      ),
    ],
    beforeUpdate: [
      hook("update", async ({ type, oldInputs, newInputs }) =>
        findUpdateInterruption(type, name, { before: oldInputs, after: newInputs }),
      ),
    ],
  };
}
