import { execFile } from "node:child_process";
import { findOperationsPort, isOperatedService, listOperatedServices } from "./stack-services.ts";
import { waitUntil } from "#daemon/time.ts";
import { z } from "zod";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { runtime, type Output } from "@pulumi/pulumi";
import type { StackConfig } from "./config/config-schema.ts";
import { runInContainer, createEngineClient, type EngineClient } from "./docker/engine.ts";
import { listIncludedServices } from "./services/optional-services.ts";

/** How long pods may take to start before unready ones are listed: a syncing node does not delay an update. */
const startWithinMs = 60_000;
const pollMs = 2_000;
const runMs = 30_000;

export type PodsLocation = Readonly<{
  context: string | undefined;
  namespace: string;
  prefix: string;
  services: readonly string[];
  kubectl?: string;
  withinMs?: number;
}>;

/**
 * Lists the services in a stack whose pods are still not ready after their startup time, with the service's own reasons or the pod's
 * status. Uses kubectl, with the operator's login. If the cluster doesn't respond, that is the only entry.
 */
export async function listUnreadyPods(place: PodsLocation): Promise<readonly UnreadyService[]> {
  const { context, namespace, prefix, services, kubectl = "kubectl", withinMs = startWithinMs } = place;
  const where = [...(context === undefined ? [] : ["--context", context]), "--namespace", namespace];
  const label = "app.kubernetes.io";
  const list = ["get", "pods", "--no-headers", "--selector", `${label}/instance=${prefix}`];
  const read = () => run(kubectl, [...where, ...list, "--label-columns", `${label}/component`]);
  const seen = await waitUntil(read, hasStarted, { everyMs: pollMs, withinMs });
  const command = (words: readonly string[]) => [kubectl, ...where, ...words].join(" ");
  if (seen.failed) return [{ service: "all", reason: seen.printed, check: command(list) }];
  const pods = parsePods(seen.printed);
  const unready = pods.filter(({ isReady }) => !isReady);
  const absent = services.filter((service) => pods.every(({ component }) => component !== service));
  const found = await Promise.all(
    unready.map(async ({ name, status, component }) => {
      const service = component === "node" ? "sidecar" : component;
      if (status !== "Running" || !isOperatedService(service)) {
        return { service: component, reason: status, check: command(["describe", "pod", name]) };
      }
      const check = ["exec", name, "--container", service, "--", ...buildReadyCheck(findOperationsPort(service))];
      const { printed } = await run(kubectl, [...where, ...check]);
      return { service, reason: describeReasons(printed), check: command(check) };
    }),
  );
  // A quota or Pod Security may reject them.
  const [reason, check] = ["no pod was created", command(["get", "events"])] as const;
  return [...found, ...absent.map((service) => ({ service, reason, check }))];
}

/** Parses kubectl's pod table: name, ready and total containers, status, restarts, age, and the component label. */
function parsePods(table: string) {
  const rows = table.split("\n").filter((line) => line.trim() !== "");
  return rows.map((row) => {
    const cells = row.trim().split(/\s+/);
    const [name = "", ready = "", status = ""] = cells;
    const [some, all] = ready.split("/");
    return { name, status, component: cells.at(-1) ?? name, isReady: status === "Completed" || some === all };
  });
}

function hasStarted({ failed, printed }: Run): boolean {
  const pods = parsePods(printed);
  return failed || (pods.length > 0 && pods.every(({ isReady, status }) => isReady || status === "Running"));
}

type Run = Readonly<{ failed: boolean; printed: string }>;

/** Runs kubectl. A failure is returned as a result: the update has already succeeded. */
function run(program: string, words: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(program, words, { timeout: runMs, killSignal: "SIGKILL" }, (error, printed, said) => {
      if (error === null) return resolve({ failed: false, printed });
      const missing = `${program} is not on the PATH, so nothing was checked; install it (https://kubernetes.io/docs/tasks/tools/)`;
      const lines = error.code === "ENOENT" ? missing : [printed, said].join("\n").trim();
      return resolve({ failed: true, printed: lines === "" ? error.message : lines });
    });
  });
}

/** A deployed service that is not ready, the reason, and the command that checks it again. */
export type UnreadyService = Readonly<{ service: string; reason: string; check: string }>;

const readiness = z.object({
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })),
});

/** Builds the command that checks a service's readiness in the service's own container. The command prints the reasons if the service is not ready. */
function buildReadyCheck(port: number): readonly string[] {
  return ["node", "/app/infra/images/health-check.mjs", "http", `http://127.0.0.1:${port}${operatorPaths.ready}`, "0"];
}

/** Describes a health check's output: each failed check, or the whole output if it is not a service's response. */
function describeReasons(printed: string): string {
  const text = printed.replace(/^HTTP \d+: /, "").trim();
  try {
    const { checks } = readiness.parse(JSON.parse(text));
    const failed = Object.entries(checks).filter(([, { ok }]) => !ok);
    return failed.map(([name, { message }]) => `${name}: ${message}`).join("; ");
  } catch {
    // The output is truncated or isn't a service's response, so it is shown unchanged.
    return text.replaceAll(/\s+/g, " ");
  }
}

/** Creates the client for a stack's Docker engine; returns `undefined` on Kubernetes, and for an engine that only Docker's own client can reach. */
export function createStackEngine({ target, dockerEngine }: StackConfig): EngineClient | undefined {
  if (target !== "docker") return undefined;
  return createEngineClient(dockerEngine, process.env["DOCKER_CERT_PATH"] !== undefined);
}

/**
 * After a stack has been deployed, lists the services that run but are not ready yet, with reasons: a node that syncs for days does not
 * delay an update. Returns `undefined` in a preview and for rendered manifests; the value of the output is `undefined` for an engine that
 * can't be queried.
 */
export function listUnready(
  config: StackConfig,
  { prefix, deployed }: Readonly<{ prefix: string; deployed: Output<unknown> }>,
): Output<readonly UnreadyService[] | undefined> | undefined {
  if (config.renderTo !== undefined || runtime.isDryRun()) return undefined;
  const { kubernetesContext: context, namespace } = config;
  const engine = createStackEngine(config);
  return deployed.apply(async () => {
    const services = ["node", "facilitator", "resource-server", ...listIncludedServices(config)];
    if (config.target === "kubernetes") return await listUnreadyPods({ context, namespace, prefix, services });
    return engine === undefined ? undefined : await listUnreadyServices(engine, prefix);
  });
}

/**
 * Lists the services in a stack that are not ready, with reasons, by running the images' own health check in their containers. Services
 * that can't be queried are omitted: the deployment has already checked their liveness.
 */
export async function listUnreadyServices(engine: EngineClient, prefix: string): Promise<readonly UnreadyService[]> {
  const found = await Promise.all(
    listOperatedServices().map(async ({ name, port }) => {
      const container = `${prefix}-${name}`;
      const command = buildReadyCheck(port);
      const said = await runInContainer(engine, container, command).catch(() => undefined);
      const reason = describeReasons(said ?? "");
      return reason === "" ? [] : [{ service: name, reason, check: `docker exec ${container} ${command.join(" ")}` }];
    }),
  );
  return found.flat();
}
