import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What one run of load came to. */
export type LoadResult = Readonly<{
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU of the process under load, user and system, per request. */
  cpuMicros: number;
  peakMiB: number;
  failed: number;
}>;

/** One run of load. */
export type Load = Readonly<{
  url: string;
  pid: number;
  body: string;
  connections: number;
  seconds: number;
  folder: string;
}>;

/** Drives a URL with wrk, one thread, and measures the process behind it. */
export async function drive({ url, pid, body, connections, seconds, folder }: Load): Promise<LoadResult> {
  const script = join(folder, "post.lua");
  writeFileSync(
    script,
    `wrk.method = "POST"\nwrk.body = [=[${body}]=]\nwrk.headers["Content-Type"] = "application/json"\n`,
  );
  const before = cpuTicks(pid);
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", "-s", script, url];
  const { stdout } = await run("wrk", args, { timeout: (seconds + 10) * 1_000 });
  const ticks = cpuTicks(pid) - before;
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  const microsInTick = 10_000;
  return {
    requestsPerSecond: Math.round(Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])),
    p50Ms: milliseconds(/50%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
    p99Ms: milliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(stdout)),
    cpuMicros: Math.round((ticks * microsInTick * 10) / requests) / 10,
    peakMiB: Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024),
    failed: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0),
  };
}

/** User and system time of a process in clock ticks (proc(5), fields 14 and 15). */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

function milliseconds(match: RegExpExecArray | null): number {
  const factor = { us: 0.001, ms: 1, s: 1_000 }[match?.[2] ?? ""] ?? Number.NaN;
  return Math.round(Number(match?.[1]) * factor * 100) / 100;
}
