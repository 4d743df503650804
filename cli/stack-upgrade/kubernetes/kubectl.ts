import { execFile } from "node:child_process";
import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import type { KubernetesTarget } from "../stack-target.ts";
import { ClusterError, type Cluster } from "./cluster.ts";

/** Field manager under which the API server records these changes. */
export const fieldManager = "gatehouse-upgrade";

/** Time limits of one API server response and of one kubectl run. */
const answerSeconds = 30;
const runMs = 60_000;
const outputBytesMax = 16_777_216;

/** Rejections that a retry can't change. Any other kubectl failure may be temporary. */
const finalReasons =
  /Error from server \((?:Forbidden|NotFound|AlreadyExists|Invalid|BadRequest|MethodNotAllowed)\)|doesn't have a resource type|no matches for kind/;
const notFound = /Error from server \(NotFound\)/;
const alreadyThere = /Error from server \(AlreadyExists\)/;

/** One kubectl run; `refused`: its error output, if its exit status was not 0. */
type Run = Readonly<{ printed: string } | { printed: string; refused: string }>;

export type KubectlOptions = Readonly<{
  program?: string;
  runMs?: number;
}>;

/** Creates a client for a stack's cluster via kubectl, which uses the operator's kubeconfig and login. */
export function createKubectlCluster(
  { context, namespace }: Pick<KubernetesTarget, "context" | "namespace">,
  options: KubectlOptions = {},
): Cluster {
  const place = [
    ...(context === undefined ? [] : ["--context", context]),
    "--namespace",
    namespace,
    `--request-timeout=${answerSeconds}s`,
  ];
  const tryTo = (words: readonly string[], input?: unknown) => runKubectl([...words, ...place], input, options);
  const run = async (words: readonly string[], input?: unknown): Promise<string> => {
    const ran = await tryTo(words, input);
    if ("refused" in ran) throw explain(words, ran.refused);
    return ran.printed;
  };
  return {
    find: async (shape, kind, name) => {
      const words = ["get", kind, name, "--ignore-not-found", "--output=json", "--show-managed-fields"];
      const printed = await run(words);
      return printed.trim() === "" ? undefined : read(shape, printed, `${kind} ${name}`);
    },
    list: async (shape, kind, label) => {
      const printed = await run(["get", kind, "--output=json", ...(label === undefined ? [] : ["--selector", label])]);
      return read(z.object({ items: z.array(shape) }), printed, kind).items;
    },
    // Doesn't list all kinds: that fails if a cluster extension is broken.
    serves: async (group) => {
      const words = ["get", `--raw=/apis/${group}`];
      const ran = await tryTo(words);
      if (!("refused" in ran)) return true;
      if (notFound.test(ran.refused)) return false;
      throw explain(words, ran.refused);
    },
    create: async (object) => {
      const words = ["create", "--filename=-", `--field-manager=${fieldManager}`];
      const ran = await tryTo(words, object);
      if (!("refused" in ran)) return true;
      if (alreadyThere.test(ran.refused)) return false;
      throw explain(words, ran.refused);
    },
    reviewRights: async (reviews) => {
      const items = { apiVersion: "v1", kind: "List", items: reviews };
      // As JSON, kubectl would print the responses one after the other, not as a list.
      const printed = await run(["create", "--filename=-", '--output=jsonpath={.status.allowed}{"\\n"}'], items);
      return printed
        .trim()
        .split("\n")
        .map((line) => line === "true");
    },
    patch: async (kind, name, patch) => {
      const change = [`--type=${patch.type}`, `--patch=${JSON.stringify(patch.change)}`];
      const words = ["patch", kind, name, ...change, `--field-manager=${fieldManager}`];
      const ran = await tryTo(words);
      if (!("refused" in ran)) return true;
      if (notFound.test(ran.refused)) return false;
      throw explain(words, ran.refused);
    },
    remove: async (kind, name) => void (await run(["delete", kind, name, "--ignore-not-found", "--wait=false"])),
    readLogs: (pod) => run(["logs", pod]),
    exec: ({ pod, container }, command) => run(["exec", pod, "--container", container, "--", ...command]),
  };
}

/** Finds the kubeconfig's current context; undefined if there is none, e.g. in a pod with its own service account. */
export async function findCurrentContext(options: KubectlOptions = {}): Promise<string | undefined> {
  const ran = await runKubectl(["config", "current-context"], undefined, options);
  return "refused" in ran ? undefined : ran.printed.trim();
}

/**
 * @throws {ClusterError} if kubectl can't be run, or times out.
 */
function runKubectl(
  words: readonly string[],
  input: unknown,
  { program = "kubectl", runMs: timeout = runMs }: KubectlOptions,
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const limits = { timeout, maxBuffer: outputBytesMax, killSignal: "SIGKILL" } as const;
    const child = execFile(program, words, limits, (error, printed, refused) => {
      if (error === null) return resolve({ printed });
      const { code, killed } = error;
      if (typeof code === "number") return resolve({ printed, refused: refused.trim() || `status ${code}` });
      const why =
        code === "ENOENT"
          ? "is not on the PATH; install it (https://kubernetes.io/docs/tasks/tools/)"
          : killed === true
            ? `did not end within ${timeout} ms`
            : `can't be run (${code ?? error.message})`;
      return reject(new ClusterError(`${program} ${words[0] ?? ""} ${why}`, true, { cause: error }));
    });
    // If kubectl exits without reading its input, its exit status reports that.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input === undefined ? "" : JSON.stringify(input));
  });
}

const shownChars = 600;

function explain(words: readonly string[], said: string): ClusterError {
  const lines = said.split("\n").map((line) => line.trim());
  // Earlier lines are warnings and failed attempts.
  const line = lines.find((each) => /^(?:Error from server|error:)/.test(each)) ?? lines.at(-1) ?? "";
  const what = words.filter((word) => !word.startsWith("--")).slice(0, 3);
  return new ClusterError(`kubectl ${what.join(" ")} failed: ${line.slice(0, shownChars)}`, !finalReasons.test(said));
}

function read<Shape>(shape: z.ZodType<Shape>, printed: string, what: string): Shape {
  const parsed = shape.safeParse(parseJson(printed));
  if (parsed.success) return parsed.data;
  throw new ClusterError(`kubectl reported ${what} in a form that this version does not know`, false);
}
