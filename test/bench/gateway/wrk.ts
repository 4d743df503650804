import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Row } from "./table.ts";

const run = promisify(execFile);

export type LoadResult = Readonly<{
  requests: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU of the process under load, user and system, per request. */
  cpuMicros: number;
  peakMiB: number;
  /** Requests without a call's response: rejected requests, and broken connections. */
  failed: number;
  /** Requests with a status other than 200; for the gateway: 429, when it sheds load. */
  rejected: number;
}>;

/** One load run; a Lua script for wrk determines the requests. */
export type Load = Readonly<{
  url: string;
  pid: number;
  script: string;
  connections: number;
  seconds: number;
  folder: string;
  /** The one core that wrk uses; absent: all. */
  core?: number | undefined;
}>;

export function writePosting(body: string): string {
  return `wrk.method = "POST"\nwrk.body = [=[${body}]=]\nwrk.headers["Content-Type"] = "application/json"\n`;
}

/** Loads a URL with wrk, one thread, and measures the process behind it. */
export async function drive({ url, pid, script, connections, seconds, folder, core }: Load): Promise<LoadResult> {
  const path = join(folder, "load.lua");
  writeFileSync(path, script);
  const cpuMsBefore = readCpuMs(pid);
  const wrk = ["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, "--latency", "-s", path, url];
  const [command = "", ...args] = core === undefined ? wrk : ["taskset", "--cpu-list", String(core), ...wrk];
  const { stdout } = await run(command, args, { timeout: (seconds + 10) * 1_000 });
  const usedMs = readCpuMs(pid) - cpuMsBefore;
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  const rejectedNumber = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0);
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
  return {
    requests,
    requestsPerSecond: Math.round(Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])),
    p50Ms: parseMilliseconds(/50%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
    p99Ms: parseMilliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
    cpuMicros: Math.round((usedMs * 10_000) / requests) / 10,
    peakMiB: readMemoryMiB(pid, "VmHWM"),
    failed: broken.reduce((sum, count) => sum + count, rejectedNumber),
    rejected: rejectedNumber,
  };
}

export function createRow(what: string, result: LoadResult): Row {
  return {
    what,
    "req/s": result.requestsPerSecond,
    "p50 ms": result.p50Ms,
    "p99 ms": result.p99Ms,
    "CPU µs/request": result.cpuMicros,
    "peak MiB": result.peakMiB,
    failed: result.failed,
  };
}

export const cpu = ({ cpuMicros }: LoadResult) => cpuMicros;
export const rate = ({ requestsPerSecond }: LoadResult) => requestsPerSecond;
export const p50 = ({ p50Ms }: LoadResult) => p50Ms;
export const p99 = ({ p99Ms }: LoadResult) => p99Ms;

/** Reads a process's memory usage, current or peak (proc(5)). */
export function readMemoryMiB(pid: number, kind: "VmRSS" | "VmHWM"): number {
  const kilobytes = new RegExp(`${kind}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kilobytes) / 102.4) / 10;
}

/** Reads user and system time of a process (proc(5), fields 14 and 15, in hundredths of a second). */
export function readCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function parseMilliseconds(match: RegExpExecArray | null): number {
  const factor = { us: 0.001, ms: 1, s: 1_000 }[match?.[2] ?? ""] ?? Number.NaN;
  return Math.round(Number(match?.[1]) * factor * 1_000) / 1_000;
}
