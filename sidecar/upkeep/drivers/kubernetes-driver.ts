import { z } from "zod";
import { createRunningTimeout, waitUntil } from "#daemon/time.ts";
import { DriverError, type NodeDriver, type NodeStart } from "./driver.ts";
import { readKubernetesMessage, type KubernetesApi } from "./kubernetes-api.ts";

/** The node's pod and container, and the time limit for a restart. */
export type KubernetesDriverOptions = Readonly<{ pod: string; container: string; timeoutMs: number }>;

const containerStatus = z.object({
  name: z.string(),
  state: z.object({ running: z.object({ startedAt: z.string() }).optional() }).optional(),
});

const podSchema = z.object({
  metadata: z.object({ uid: z.string(), deletionTimestamp: z.string().optional() }),
  status: z.object({ containerStatuses: z.array(containerStatus).optional() }).optional(),
});

type Pod = z.output<typeof podSchema>;

const pollIntervalMs = 500;

/**
 * Restarts the node by deleting its pod, which its StatefulSet recreates, and waits for the new pod's container to run. Needs only `get`
 * and `delete` on that one pod.
 */
export function createKubernetesDriver(options: KubernetesDriverOptions, api: KubernetesApi): NodeDriver {
  const path = `/pods/${encodeURIComponent(options.pod)}`;
  const readPod = async (signal: AbortSignal): Promise<Pod | undefined> => {
    const response = await api.request("GET", path, signal);
    if (response.status === 404) return undefined;
    const parsed = podSchema.safeParse(response.body);
    if (response.status === 200 && parsed.success) return parsed.data;
    throw new DriverError(`pod ${options.pod} can't be read: ${readKubernetesMessage(response)}; grant get on it.`);
  };
  return {
    name: "kubernetes",
    restart: async (signal, stopping = new AbortController().signal) => {
      const before = await readPod(signal);
      const response = await api.request("DELETE", path, signal);
      if (![200, 202, 404].includes(response.status)) {
        throw new DriverError(
          `pod ${options.pod} could not be deleted: ${readKubernetesMessage(response)}; grant delete on it.`,
        );
      }
      const deadline = AbortSignal.any([signal, stopping, createRunningTimeout(options.timeoutMs)]);
      // The sidecar itself runs in the pod that it deleted, and the new pod starts only after this one has terminated.
      if (stopping.aborted) return {};
      const isAnother = (now: Pod | undefined) =>
        now !== undefined &&
        now.metadata.uid !== before?.metadata.uid &&
        typeof readContainerStart(now, options.container) === "number";
      const found = await waitUntil(() => readPod(signal), isAnother, { everyMs: pollIntervalMs, signal: deadline });
      if (isAnother(found) || stopping.aborted) return {};
      throw new DriverError(
        `pod ${options.pod} was not running again within ${options.timeoutMs} ms; check its events: kubectl describe pod ${options.pod}.`,
      );
    },
    instanceId: async (signal) => (await readPod(signal))?.metadata.uid,
    startedAt: async (signal) => {
      const pod = await readPod(signal);
      return pod === undefined ? "not-running" : readContainerStart(pod, options.container);
    },
  };
}

function readContainerStart(pod: Pod, container: string): NodeStart {
  const running = pod.status?.containerStatuses?.find(({ name }) => name === container)?.state?.running;
  return running === undefined ? "not-running" : Date.parse(running.startedAt);
}
