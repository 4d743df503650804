import { WebSocket } from "ws";
import type { ProcessResult } from "../bounded-process.ts";
import type { NodeCliRunner } from "../observe/node-cli.ts";
import { DriverError } from "./driver.ts";
import type { KubernetesApi } from "./kubernetes-api.ts";

/** How the tool is run inside the node's pod. */
export type KubernetesNodeCliOptions = Readonly<{
  apiUrl: string;
  pod: string;
  container: string;
  command: string;
  timeoutMs: number;
  outputLimitBytes: number;
}>;

/** First byte of each message (Kubernetes remote command protocol, `v4.channel.k8s.io`). */
const channels = { output: 1, errors: 2, status: 3 } as const;

/** Runs the tool in the node's container (pod exec over WebSocket). Needs `create` (and `get`) on that pod's `exec`. */
export function kubernetesNodeCli(
  options: KubernetesNodeCliOptions,
  binDirectory: () => string,
  api: KubernetesApi,
): NodeCliRunner {
  return async (args, signal) => {
    const name = `${options.command} in pod ${options.pod}`;
    try {
      const { token, ca, namespace } = await api.credentials();
      const url = execUrl(options, namespace, [`${binDirectory()}/${options.command}`, ...args]);
      const headers = { authorization: `Bearer ${token}` };
      const socket = new WebSocket(url, ["v4.channel.k8s.io"], {
        headers,
        ...(ca === undefined ? {} : { ca }),
        maxPayload: options.outputLimitBytes + 1,
        handshakeTimeout: options.timeoutMs,
      });
      return await collect(socket, name, options, signal);
    } catch (error) {
      if (error instanceof DriverError) return { ok: false, reason: "Failed", message: error.message };
      throw error;
    }
  };
}

function execUrl(options: KubernetesNodeCliOptions, namespace: string, command: readonly string[]): URL {
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
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    return await new Promise<ProcessResult>((resolve) => {
      const fail = (reason: "TimedOut" | "TooMuchOutput" | "Failed", words: string) =>
        resolve({ ok: false, reason, message: `${name} ${words}` });
      deadline.addEventListener("abort", () => fail("TimedOut", `did not finish within ${timeoutMs} ms.`), {
        once: true,
      });
      socket.on("error", (error) => fail("Failed", `can't be run (${error.message}); grant create on pods/exec.`));
      socket.on("message", (data: Buffer) => {
        const channel = Object.entries(channels).find(([, number]) => number === data[0])?.[0] as keyof typeof channels;
        if (channel === undefined) return;
        text[channel] += data.subarray(1).toString("utf8");
        if (text[channel].length <= outputLimitBytes) return;
        fail("TooMuchOutput", `printed more than ${outputLimitBytes} bytes and was no longer read.`);
      });
      socket.once("close", () => resolve(resultOf(name, text)));
    });
  } finally {
    socket.terminate();
  }
}

function resultOf(name: string, text: Readonly<{ output: string; errors: string; status: string }>): ProcessResult {
  if (/"status"\s*:\s*"Success"/.test(text.status)) return { ok: true, output: text.output };
  const exit = /"reason"\s*:\s*"ExitCode"\s*,\s*"message"\s*:\s*"(\d+)"/.exec(text.status)?.[1];
  const said = (text.errors.trim() || text.output.trim()).split("\n")[0]?.slice(0, 300) ?? "";
  const how =
    exit === undefined ? `ended without success (${text.status.slice(0, 200)})` : `exited with status ${exit}`;
  return { ok: false, reason: "Failed", message: `${name} ${how}: ${said}` };
}
