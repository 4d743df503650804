import { execFile } from "node:child_process";
import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import { PlatformError } from "../stack-platform.ts";
import type { KubernetesTarget } from "../stack-record.ts";

export type ClusterObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; labels: Readonly<Record<string, string>> }>;
  spec: unknown;
}>;

export type ClusterPatch = Readonly<
  | { type: "merge"; change: object }
  | { type: "json"; change: readonly Readonly<{ op: string; path: string; value?: unknown }>[] }
>;

export type ClusterKind = "statefulset" | "pod" | "persistentvolumeclaim" | "volumesnapshot";

/** Cluster calls that an upgrade needs, in the stack's namespace. Each has a deadline and throws a {@link PlatformError}. */
export type Cluster = ReturnType<typeof createKubectlCluster>;

/** Field manager under which the API server records these changes. */
export const fieldManager = "gatehouse-upgrade";

/** Time limits of one API server response and of one kubectl run. */
const responseTimeoutSeconds = 30;
const runMs = 60_000;
const outputBytesMax = 16_777_216;

/** Rejections that a retry can't change. Any other kubectl failure may be temporary. */
const finalReasons =
  /Error from server \((?:Forbidden|NotFound|AlreadyExists|Invalid|BadRequest|MethodNotAllowed)\)|doesn't have a resource type|no matches for kind/;
const notFound = /Error from server \(NotFound\)/;
const alreadyExists = /Error from server \(AlreadyExists\)/;

export type KubectlOptions = Readonly<{ program?: string; runMs?: number }>;

/** Creates a client for a stack's cluster via kubectl, which uses the operator's kubeconfig and login. */
export function createKubectlCluster(
  { context, namespace }: Pick<KubernetesTarget, "context" | "namespace">,
  options: KubectlOptions = {},
) {
  const inContext = context === undefined ? [] : ["--context", context];
  const commonArguments = [...inContext, "--namespace", namespace, `--request-timeout=${responseTimeoutSeconds}s`];
  const byManager = `--field-manager=${fieldManager}`;
  /** Returns undefined for a failure that `allowed` matches. */
  const runIfAllowed = async (allowed: RegExp | undefined, args: readonly string[], input?: unknown) => {
    const { printed: output, rejected } = await runKubectl([...args, ...commonArguments], input, options);
    if (rejected === undefined) return output;
    if (allowed?.test(rejected) === true) return undefined;
    throw explain(args, rejected);
  };
  const run = async (args: readonly string[], input?: unknown) => (await runIfAllowed(undefined, args, input)) ?? "";
  return {
    /** Returns undefined if no object has that name. */
    find: async <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, name: string): Promise<Shape | undefined> => {
      const args = ["get", kind, name, "--ignore-not-found", "--output=json", "--show-managed-fields"];
      const output = await run(args);
      return output.trim() === "" ? undefined : read(shape, output, `${kind} ${name}`);
    },
    list: async <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, label: string): Promise<readonly Shape[]> => {
      const output = await run(["get", kind, "--output=json", "--selector", label]);
      return read(z.object({ items: z.array(shape) }), output, kind).items;
    },
    /** Returns whether the cluster serves this group and version. Doesn't list all kinds: that fails if a cluster extension is broken. */
    serves: async (group: string) => (await runIfAllowed(notFound, ["get", `--raw=/apis/${group}`])) !== undefined,
    /** Returns false if an object of that name exists. */
    create: async (object: ClusterObject) =>
      (await runIfAllowed(alreadyExists, ["create", "--filename=-", byManager], object)) !== undefined,
    /** Finds those of the permissions, such as `get pods/log`, that the caller lacks. */
    findMissingPermissions: async (permissions: readonly string[]) => {
      const items = permissions.map((permission) => buildReview(permission, namespace));
      // As JSON, kubectl would print the responses one after the other, not as a list.
      const args = ["create", "--filename=-", '--output=jsonpath={.status.allowed}{"\\n"}'];
      const reviewResults = (await run(args, { apiVersion: "v1", kind: "List", items })).trim().split("\n");
      return permissions.filter((_, at) => reviewResults[at] !== "true");
    },
    /** No-op if no object has that name. */
    patch: async (kind: ClusterKind, name: string, { type, change }: ClusterPatch): Promise<void> => {
      const args = ["patch", kind, name, `--type=${type}`, `--patch=${JSON.stringify(change)}`, byManager];
      await runIfAllowed(notFound, args);
    },
    /** Requests the removal without waiting for it; no-op if the object was already removed. */
    remove: async (kind: ClusterKind, name: string): Promise<void> =>
      void (await run(["delete", kind, name, "--ignore-not-found", "--wait=false"])),
    readLogs: (pod: string) => run(["logs", pod]),
    exec: (pod: string, container: string, command: readonly string[]) =>
      run(["exec", pod, "--container", container, "--", ...command]),
  };
}

/** Builds a SelfSubjectAccessReview, which the cluster does not store, of a permission such as `get pods/log` or `get statefulsets.apps`. */
function buildReview(permission: string, namespace: string) {
  const [, verb, resource, group, subresource] = /^(\w+) (\w+)(?:\.([\w.]+))?(?:\/(\w+))?$/.exec(permission) ?? [];
  return {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { namespace, verb, resource, group, subresource } },
  };
}

/** Finds the kubeconfig's current context; undefined if there is none, e.g. in a pod with its own service account. */
export async function findCurrentContext(options: KubectlOptions = {}): Promise<string | undefined> {
  const { printed: output, rejected } = await runKubectl(["config", "current-context"], undefined, options);
  return rejected === undefined ? output.trim() : undefined;
}

/** `rejected`: kubectl's error output, if its exit status was not 0. Throws a {@link PlatformError} if it can't be run, or times out. */
function runKubectl(
  args: readonly string[],
  input: unknown,
  { program = "kubectl", runMs: timeout = runMs }: KubectlOptions,
): Promise<Readonly<{ printed: string; rejected?: string }>> {
  return new Promise((resolve, reject) => {
    const limits = { timeout, maxBuffer: outputBytesMax, killSignal: "SIGKILL" } as const;
    const child = execFile(program, args, limits, (error, output, rejected) => {
      if (error === null) return resolve({ printed: output });
      const { code, killed } = error;
      if (typeof code === "number") return resolve({ printed: output, rejected: rejected.trim() || `status ${code}` });
      const failure = killed === true ? `did not exit within ${timeout} ms` : `can't be run (${code ?? error.message})`;
      const why =
        code === "ENOENT" ? "is not on the PATH; install it (https://kubernetes.io/docs/tasks/tools/)" : failure;
      return reject(new PlatformError(`${program} ${args[0] ?? ""} ${why}`, true, { cause: error }));
    });
    // If kubectl exits without reading its input, its exit status reports that.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input === undefined ? "" : JSON.stringify(input));
  });
}

const shownChars = 600;

function explain(args: readonly string[], said: string): PlatformError {
  const lines = said.split("\n").map((line) => line.trim());
  // Earlier lines are warnings and failed attempts.
  const line = lines.find((each) => /^(?:Error from server|error:)/.test(each)) ?? lines.at(-1) ?? "";
  const what = args.filter((arg) => !arg.startsWith("--")).slice(0, 3);
  return new PlatformError(`kubectl ${what.join(" ")} failed: ${line.slice(0, shownChars)}`, !finalReasons.test(said));
}

function read<Shape>(shape: z.ZodType<Shape>, output: string, what: string): Shape {
  const { data } = shape.safeParse(parseJson(output));
  if (data !== undefined) return data;
  throw new PlatformError(`kubectl reported ${what} in a form that this version does not know`, false);
}
