import { execFile } from "node:child_process";
import { z } from "zod";
import { findOperationsPort, isOperatedService } from "#daemon/stack-services.ts";
import { waitUntil } from "#daemon/time.ts";
import { buildReadyCheck, describeReasons, type UnreadyService } from "../unready-service.ts";

const containerStatus = z.object({
  name: z.string(),
  ready: z.boolean(),
  started: z.boolean().nullish(),
  state: z.object({
    running: z.object({}).optional(),
    waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional(),
    terminated: z.object({ exitCode: z.number(), reason: z.string().optional() }).optional(),
  }),
});

const podList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z.object({
        conditions: z
          .array(z.object({ type: z.string(), status: z.string(), message: z.string().optional() }))
          .default([]),
        initContainerStatuses: z.array(containerStatus).default([]),
        containerStatuses: z.array(containerStatus).default([]),
      }),
    }),
  ),
});

type Pod = z.output<typeof podList>["items"][number];
type ContainerStatus = z.output<typeof containerStatus>;

/** Time for the pods to start, after which those that are not ready are listed: a node that syncs keeps no update waiting. */
const startWithinMs = 60_000;
const pollMs = 2_000;
const runMs = 30_000;
const outputBytesMax = 16_777_216;

/** A stack's place in its cluster, and the program that reaches it. */
export type PodsPlace = Readonly<{
  context: string | undefined;
  namespace: string;
  prefix: string;
  kubectl?: string;
  withinMs?: number;
}>;

/**
 * Lists the services of a stack whose pods are not ready once they have had time to start, with the reasons that the cluster or the service itself gives;
 * by kubectl, which logs in as for a person. Without an answer of the cluster, that is the one entry.
 */
export async function listUnreadyPods(place: PodsPlace): Promise<readonly UnreadyService[]> {
  const { context, namespace, prefix, kubectl = "kubectl", withinMs = startWithinMs } = place;
  const where = [...(context === undefined ? [] : ["--context", context]), "--namespace", namespace];
  const selector = `app.kubernetes.io/instance=${prefix}`;
  const list = ["get", "pods", "--selector", selector, "--field-selector", "status.phase!=Succeeded"];
  const read = async () => {
    const ran = await run(kubectl, [...where, ...list, "--output=json"]);
    return ran.status === 0 ? podList.parse(JSON.parse(ran.printed)).items : ran.printed;
  };
  const times = { everyMs: pollMs, withinMs };
  const pods = await waitUntil(read, (seen) => typeof seen === "string" || hasStarted(seen), times);
  const command = (words: readonly string[]) => [kubectl, ...where, ...words].join(" ");
  if (typeof pods === "string") return [{ service: "all", reason: pods, check: command(list) }];
  const unready = pods.filter(({ status }) => !isTrue(status, "Ready"));
  const waiting = unready.flatMap((pod) => {
    const check = command(["describe", "pod", pod.metadata.name]);
    return listWaiting(pod).map(({ service, reason }) => ({ service, reason, check }));
  });
  const asked = unready.flatMap((pod) =>
    listRunning(pod).map(async ({ name }) => {
      const [words, ask] = buildCheck(pod.metadata.name, name);
      const reason = ask ? (await run(kubectl, [...where, ...words])).printed : "it runs and does not answer yet";
      return { service: name, reason: describeReasons(reason), check: command(words) };
    }),
  );
  return [...waiting, ...(await Promise.all(asked))];
}

/** Builds the command that shows why a container is not ready, and whether it prints a service's own reasons. */
function buildCheck(pod: string, name: string): readonly [words: readonly string[], ask: boolean] {
  if (!isOperatedService(name)) return [["logs", pod, "--container", name, "--tail", "20"], false];
  return [["exec", pod, "--container", name, "--", ...buildReadyCheck(findOperationsPort(name))], true];
}

function hasStarted(pods: readonly Pod[]): boolean {
  const areUp = pods.every((pod) => isTrue(pod.status, "Ready") || listContainers(pod).every(({ started }) => started));
  return pods.length > 0 && areUp;
}

function isTrue({ conditions }: Pod["status"], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}

function listContainers({ status }: Pod): readonly ContainerStatus[] {
  return [...status.initContainerStatuses, ...status.containerStatuses];
}

function listRunning(pod: Pod): readonly ContainerStatus[] {
  return listContainers(pod).filter(({ ready, state }) => state.running !== undefined && !ready);
}

/** Lists what the cluster says of a pod that it can't place, and of containers that do not run. */
function listWaiting(pod: Pod): readonly Omit<UnreadyService, "check">[] {
  const unplaced = pod.status.conditions.find(({ type, status }) => type === "PodScheduled" && status !== "True");
  const service = pod.status.containerStatuses[0]?.name ?? pod.metadata.name;
  if (unplaced !== undefined) return [{ service, reason: unplaced.message ?? "no machine was found for its pod" }];
  return listContainers(pod).flatMap(({ name, state: { waiting, terminated } }) => {
    if (terminated !== undefined && terminated.exitCode !== 0) {
      return [{ service: name, reason: `exited with status ${terminated.exitCode} (${terminated.reason ?? "Error"})` }];
    }
    const { reason, message } = waiting ?? {};
    // It waits for the container that is named besides.
    if (reason === undefined || reason === "PodInitializing") return [];
    return [{ service: name, reason: message === undefined ? reason : `${reason}: ${message}` }];
  });
}

/** Runs kubectl. Its failure is a finding like any other: the update has succeeded. */
function run(program: string, words: readonly string[]): Promise<Readonly<{ status: number; printed: string }>> {
  return new Promise((resolve) => {
    const limits = { timeout: runMs, maxBuffer: outputBytesMax, killSignal: "SIGKILL" } as const;
    execFile(program, words, limits, (error, printed, said) => {
      if (error === null) return resolve({ status: 0, printed });
      if (error.code === "ENOENT") {
        const missing = `${program} is not on the PATH, so nothing was checked; install it (https://kubernetes.io/docs/tasks/tools/)`;
        return resolve({ status: 1, printed: missing });
      }
      const lines = [printed, said].join("\n").trim();
      return resolve({ status: 1, printed: lines === "" ? error.message : lines });
    });
  });
}
