import type { BenchProcess } from "./proxies.ts";
import { start } from "./proxies.ts";
import { drive, writePosting, type LoadResult } from "./wrk.ts";

/** Conditions that all measurements share. */
export type Surroundings = Readonly<{
  folder: string;
  seconds: number;
  rounds: number;
  connections: number;
  /** The one core that the load keeps to; absent: all. */
  core?: number;
}>;

const gatewayMain = new URL("gateway-process.main.ts", import.meta.url).pathname;

/** Starts the gateway alone in a process, in front of a node; `settings` are those of the gateway besides the benchmark's own. */
export function startGatewayProcess(port: number, nodeUrl: string, settings: object = {}): Promise<BenchProcess> {
  const webSocketUrl = nodeUrl.replace("http", "ws");
  return start(process.execPath, [gatewayMain, String(port), nodeUrl, webSocketUrl, JSON.stringify(settings)], port);
}

/** Measures a process that gets one body again and again from `connections` clients. */
export function measure(
  { url, pid }: BenchProcess,
  body: string,
  { folder, seconds, connections, core }: Surroundings,
): Promise<LoadResult> {
  return drive({ url, pid, script: writePosting(body), connections, seconds, folder, core });
}
