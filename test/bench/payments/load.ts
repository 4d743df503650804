import { connect, type Socket } from "node:net";
import { readCpuMs } from "../gateway/wrk.ts";
import { quantile } from "../measurement.ts";

export type Load = Readonly<{
  url: string;
  pid: number;
  requests: readonly string[];
  /** Whether a response (head and body) is the one expected by the load. */
  isExpected: (response: string) => boolean;
  atOnce: number;
}>;

export type LoadResult = Readonly<{
  perSecond: number;
  /** CPU of the process per request, user and system. */
  cpuMicros: number;
  p50Ms: number;
  p99Ms: number;
  /** Share of responses that are as expected. */
  goodShare: number;
  example: string | undefined;
}>;

/** Time limit of a load: a request without a response by then has failed. */
const loadTimeoutMs = 20_000;

/** Sends requests over raw sockets, so that the load takes little CPU from the measured process. */
export async function sendAll({ url, pid, requests, isExpected, atOnce }: Load): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const times: number[] = [];
  let example: string | undefined;
  let sent = 0;
  const sockets = Array.from({ length: atOnce }, () => connect(Number(port), hostname).setNoDelay());
  // The requests that are still waiting for a response at the deadline.
  for (const socket of sockets) socket.on("error", () => undefined);
  const late = setTimeout(() => {
    for (const socket of sockets) socket.destroy(new Error("no response in time"));
  }, loadTimeoutMs);
  const run = async (socket: Socket): Promise<void> => {
    for (let request = requests[sent++]; request !== undefined; request = requests[sent++]) {
      const began = performance.now();
      socket.write(request);
      const response = await readResponse(socket).catch(String);
      if (isExpected(response)) times.push(performance.now() - began);
      else example ??= response.slice(0, 600);
      if (socket.destroyed) return;
    }
  };
  const cpuMs = readCpuMs(pid);
  const began = performance.now();
  await Promise.all(sockets.map(run));
  const seconds = (performance.now() - began) / 1_000;
  const usedMs = readCpuMs(pid) - cpuMs;
  clearTimeout(late);
  for (const socket of sockets) socket.destroy();
  return {
    perSecond: Math.round(times.length / seconds),
    cpuMicros: Math.round((usedMs * 1_000) / requests.length),
    p50Ms: Math.round(quantile(times, 0.5) * 10) / 10,
    p99Ms: Math.round(quantile(times, 0.99) * 10) / 10,
    goodShare: times.length / requests.length,
    example,
  };
}

function readResponse(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const end = (error?: Error) => {
      socket.removeAllListeners("data").off("error", end).off("close", onClose);
      if (error === undefined) return resolve(received);
      socket.destroy();
      reject(error);
    };
    const onClose = () => end(new Error("the connection was closed"));
    socket.on("error", end);
    socket.on("close", onClose);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      const headEnd = received.indexOf("\r\n\r\n");
      if (headEnd === -1) return;
      const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd))?.[1];
      if (length === undefined) end(new Error(`no Content-Length: ${received.slice(0, headEnd)}`));
      else if (received.length >= headEnd + 4 + Number(length)) end();
    });
  });
}
