import { z } from "zod";
import { createTimeoutSignal, waitUntil } from "#daemon/time.ts";
import { DriverError, type NodeDriver, type NodeStart } from "./driver.ts";
import { readKubernetesMessage, type KubernetesApi, readKubernetesResponse } from "./kubernetes-api.ts";
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { reportSuccess, takeFirstLine, type ProcessResult } from "#daemon/process/bounded-process.ts";
import { type NodeCliRunner, explainExit, type ToolLocation } from "./node-cli.ts";

type KubernetesDriverOptions = Readonly<{ pod: string; container: string; timeoutMs: number }>;

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

/** Deletes the pod, which its StatefulSet recreates, and waits for the container. Needs only `get` and `delete` on that pod. */
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
      const podBefore = await readPod(signal);
      const response = await api.request("DELETE", path, signal);
      if (![200, 202, 404].includes(response.status)) {
        throw new DriverError(
          `pod ${options.pod} could not be deleted: ${readKubernetesMessage(response)}; grant delete on it.`,
        );
      }
      const deadline = AbortSignal.any([signal, stopping, createTimeoutSignal(options.timeoutMs)]);
      // The sidecar itself may run in the pod that it deleted; the new pod starts only after this one has terminated.
      if (stopping.aborted) return {};
      const isAnother = (now: Pod | undefined) =>
        now !== undefined &&
        now.metadata.uid !== podBefore?.metadata.uid &&
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
  const containerState = pod.status?.containerStatuses?.find(({ name }) => name === container)?.state?.running;
  return containerState === undefined ? "not-running" : Date.parse(containerState.startedAt);
}

type KubernetesNodeCliOptions = Readonly<{
  apiUrl: string;
  pod: string;
  container: string;
  timeoutMs: number;
  outputLimitBytes: number;
}>;

/** First byte of each message (Kubernetes remote command protocol, `v4.channel.k8s.io`). */
const channels = { output: 1, errors: 2, status: 3 } as const;

/** Final status of a command (`v4.channel.k8s.io`): a Status object whose causes include the exit status. */
const execStatus = z.object({
  status: z.string(),
  message: z.string().optional(),
  details: z
    .object({ causes: z.array(z.object({ reason: z.string().optional(), message: z.string().optional() })).optional() })
    .optional(),
});

/** Runs the tool in the node's container (pod exec over WebSocket). Needs `create` (and `get`) on that pod's `exec`. */
export function createKubernetesNodeCli(
  options: KubernetesNodeCliOptions,
  locateTool: () => ToolLocation,
  api: KubernetesApi,
): NodeCliRunner {
  return async (args, signal) => {
    const { command, directory } = locateTool();
    const name = `${command} in pod ${options.pod}`;
    try {
      const { token, ca, namespace } = await api.credentials();
      const url = buildExecUrl(options, namespace, [`${directory}/${command}`, ...args]);
      const headers = { authorization: `Bearer ${token}` };
      const socket = new WebSocket(url, ["v4.channel.k8s.io"], {
        headers,
        ...(ca === undefined ? {} : { ca }),
        maxPayload: options.outputLimitBytes + 1,
      });
      return await collect(socket, name, options, signal);
    } catch (error) {
      if (error instanceof DriverError) return { ok: false, reason: "Failed", message: error.message };
      throw error;
    }
  };
}

function buildExecUrl(options: KubernetesNodeCliOptions, namespace: string, command: readonly string[]): URL {
  const pod = `${encodeURIComponent(namespace)}/pods/${encodeURIComponent(options.pod)}`;
  const url = new URL(`${options.apiUrl.replace(/\/$/, "")}/api/v1/namespaces/${pod}/exec`);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.search = new URLSearchParams([
    ["container", options.container],
    ["stdout", "true"],
    ["stderr", "true"],
    ...command.map((part) => ["command", part]),
  ]).toString();
  return url;
}

async function collect(
  socket: WebSocket,
  name: string,
  { timeoutMs, outputLimitBytes }: KubernetesNodeCliOptions,
  signal: AbortSignal,
): Promise<ProcessResult> {
  const text = { output: "", errors: "", status: "" };
  const deadline = AbortSignal.any([signal, createTimeoutSignal(timeoutMs)]);
  try {
    return await new Promise<ProcessResult>((resolve) => {
      const fail = (reason: "TimedOut" | "TooMuchOutput" | "Failed", failureText: string) =>
        resolve({ ok: false, reason, message: `${name} ${failureText}` });
      const failOnOutputLimit = () =>
        fail("TooMuchOutput", `printed more than the limit of ${outputLimitBytes} bytes.`);
      deadline.addEventListener("abort", () => fail("TimedOut", `did not finish within ${timeoutMs} ms.`), {
        once: true,
      });
      socket.on("unexpected-response", (_request, response) => {
        explainRejection(response).then(
          (failureText) => fail("Failed", `can't be run: ${failureText}`),
          (error: unknown) => fail("Failed", `can't be run (${String(error)}).`),
        );
      });
      socket.on("error", (error: NodeJS.ErrnoException) =>
        error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH"
          ? failOnOutputLimit()
          : fail("Failed", `can't be run (${error.message}); check the cluster's DNS and the pod's network policies.`),
      );
      socket.on("message", (data: Buffer) => {
        const channel = Object.entries(channels).find(([, number]) => number === data[0])?.[0] as keyof typeof channels;
        if (channel === undefined) return;
        text[channel] += data.subarray(1).toString("utf8");
        if (text[channel].length > outputLimitBytes) failOnOutputLimit();
      });
      socket.once("close", () => resolve(buildResult(name, text)));
    });
  } finally {
    socket.terminate();
  }
}

/** Explains, with the API server's message, why no stream was opened: a permission is missing, or a container isn't running yet. */
async function explainRejection(response: IncomingMessage): Promise<string> {
  const answer = await readKubernetesResponse(response.statusCode ?? 0, response);
  return `${readKubernetesMessage(answer)}${answer.status === 403 ? "; grant create on pods/exec." : ""}`;
}

function buildResult(name: string, text: Readonly<{ output: string; errors: string; status: string }>): ProcessResult {
  const status = parseStatus(text.status);
  if (status?.status === "Success") return reportSuccess(text.output, text.errors);
  const said = takeFirstLine(text.errors) || takeFirstLine(text.output);
  const exit = status?.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
  if (exit !== undefined) return explainExit(name, Number(exit), said);
  if (status === undefined) {
    const message = `${name} exited without a status: ${said || "nothing was printed"}`;
    return { ok: false, reason: "Failed", message };
  }
  // The runtime couldn't start the program. The message lists the layers that the error passed through, and ends with the reason.
  const failureText = status.message?.slice(-saidLimit) ?? "no reason given";
  return explainExit(name, /exec failed|permission denied/.test(failureText) ? notStartedStatus : null, failureText);
}

/** Exit status that a shell returns for a program that couldn't be started. */
const notStartedStatus = 126;

const saidLimit = 300;

function parseStatus(text: string): z.output<typeof execStatus> | undefined {
  try {
    return execStatus.safeParse(JSON.parse(text)).data;
  } catch {
    // The stream ended before the status arrived, which the caller reports.
    return undefined;
  }
}
