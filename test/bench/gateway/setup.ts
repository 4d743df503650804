import type { BenchProcess } from "./proxies.ts";
import { start } from "./proxies.ts";
import { drive, writePosting, type LoadResult } from "./wrk.ts";

export type BenchSetup = Readonly<{
  folder: string;
  seconds: number;
  rounds: number;
  connections: number;
  /** The one core that the load uses; absent: all. */
  core?: number;
}>;

const gatewayMain = new URL("gateway-process.main.ts", import.meta.url).pathname;

/**
 * Starts the gateway alone in a process, in front of a node; `settings` are gateway settings beyond the benchmark's
 * own.
 */
export function startGatewayProcess(port: number, nodeUrl: string, settings: object = {}): Promise<BenchProcess> {
  const webSocketUrl = nodeUrl.replace("http", "ws");
  return start(process.execPath, [gatewayMain, String(port), nodeUrl, webSocketUrl, JSON.stringify(settings)], port);
}

/** Measures a process to which `connections` clients keep sending the same body. */
export function measure(
  { url, pid }: BenchProcess,
  body: string,
  { folder, seconds, connections, core }: BenchSetup,
): Promise<LoadResult> {
  return drive({ url, pid, script: writePosting(body), connections, seconds, folder, core });
}
