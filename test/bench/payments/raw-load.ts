import { connect, type Socket } from "node:net";
import { readCpuMs } from "../gateway/wrk.ts";
import { quantile } from "../measurement.ts";

/** Requests to a process, each sent once, `atOnce` at a time, each connection kept open. */
export type RawLoad = Readonly<{
  url: string;
  pid: number;
  requests: readonly string[];
  status: number;
  atOnce: number;
}>;

export type RawResult = Readonly<{
  perSecond: number;
  /** CPU of the process per request, user and system. */
  cpuMicros: number;
  p50Ms: number;
  p99Ms: number;
}>;

/**
 * Sends requests over bare sockets, so that the load takes little of what is measured.
 *
 * @throws {Error} when a response has another status, or has no length.
 */
export async function sendAll({ url, pid, requests, status, atOnce }: RawLoad): Promise<RawResult> {
  const { hostname, port } = new URL(url);
  const times: number[] = [];
  let sent = 0;
  const run = async (): Promise<void> => {
    const socket = connect(Number(port), hostname).setNoDelay();
    for (let request = requests[sent++]; request !== undefined; request = requests[sent++]) {
      const began = performance.now();
      socket.write(request);
      const response = await readResponse(socket);
      if (!response.startsWith(`HTTP/1.1 ${status} `)) throw new Error(`another response: ${response.slice(0, 600)}`);
      times.push(performance.now() - began);
    }
    socket.destroy();
  };
  const cpuMs = readCpuMs(pid);
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, run));
  const seconds = (performance.now() - began) / 1_000;
  return {
    perSecond: Math.round(requests.length / seconds),
    cpuMicros: Math.round(((readCpuMs(pid) - cpuMs) * 1_000) / requests.length),
    p50Ms: Math.round(quantile(times, 0.5) * 10) / 10,
    p99Ms: Math.round(quantile(times, 0.99) * 10) / 10,
  };
}

/** Reads one response with a Content-Length. */
function readResponse(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const end = (error?: Error) => {
      socket.removeAllListeners("data").removeAllListeners("error").removeAllListeners("close");
      if (error === undefined) resolve(received);
      else reject(error);
    };
    socket.on("error", end);
    socket.on("close", () => end(new Error("the connection was closed")));
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      const headEnd = received.indexOf("\r\n\r\n");
      if (headEnd === -1) return;
      const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd))?.[1];
      if (length === undefined) end(new Error(`no length: ${received.slice(0, headEnd)}`));
      else if (received.length >= headEnd + 4 + Number(length)) end();
    });
  });
}
