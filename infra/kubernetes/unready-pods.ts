import { execFile } from "node:child_process";
import { findOperationsPort, isOperatedService } from "../stack-services.ts";
import { waitUntil } from "#daemon/time.ts";
import { buildReadyCheck, describeReasons, type UnreadyService } from "../unready-service.ts";

/** How long pods may take to start before unready ones are listed: a syncing node does not delay an update. */
const startWithinMs = 60_000;
const pollMs = 2_000;
const runMs = 30_000;

export type PodsLocation = Readonly<{
  context: string | undefined;
  namespace: string;
  prefix: string;
  /** Services that have pods. */
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
