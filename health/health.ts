import type { Registry } from "prom-client";
import type { z } from "zod";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import type { Charts } from "#status/charts.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { isLoopback, readUrlHost } from "#daemon/http/address.ts";
import type { referencesShape, rpcHealthShape } from "./settings.ts";
import type { EventLoopWatch } from "./event-loop-watch.ts";
import { createHealthMetrics } from "./health-metrics.ts";
import { createObservation } from "./observation.ts";
import type { NodeInfo } from "./rpc-state.ts";
import { watchHealth, type HealthWatch } from "./health-watch.ts";
import type { ReferenceWatchDependencies, ReferenceWatchOptions } from "./reference-watch.ts";
import { createRpcClient } from "./rpc-client.ts";
import { watchWebSocket } from "./web-socket-watch.ts";

/** The watches on the node's interfaces: HTTP, WebSocket, and the comparison of the node's height with its references. */
export type Health = AsyncDisposable & HealthWatch;

export type HealthDependencies = Readonly<{
  log: Logger;
  metrics: Registry;
  clock: Clock;
  send: SendRequest;
  board: ConditionBoard;
  charts: Charts;
  eventLoop: EventLoopWatch;
  /** Called when the watches' findings change. */
  factsChanged?: (facts: NodeInfo) => void;
}>;

export type WatchedNode = Readonly<{
  node: Readonly<{ httpUrl: string; webSocketUrl: string; chainId: number }>;
  health: Readonly<{ [Key in keyof typeof rpcHealthShape]: z.output<(typeof rpcHealthShape)[Key]> }>;
  lag: Readonly<{ [Key in keyof typeof referencesShape]: z.output<(typeof referencesShape)[Key]> }>;
  /** Driver that restarts the node; absent if there is none. */
  restart?: Readonly<{ driver: string }>;
}>;

export function startHealth({ node, health, lag, restart }: WatchedNode, dependencies: HealthDependencies): Health {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { timeoutMs } = health;
  const facts = createObservation<NodeInfo>({}, () => dependencies.factsChanged?.(facts.now()));
  const rpc = createRpcClient({ url: node.httpUrl, timeoutMs }, dependencies);
  const http = watchHealth(
    {
      ...health,
      url: node.httpUrl,
      chainId: node.chainId,
      hasReferences: lag.references.length > 0,
      rejectionMeansEnd: isRejectionFinal(node.httpUrl, restart?.driver),
      signal,
    },
    {
      ...dependencies,
      rpc,
      metrics: createHealthMetrics(dependencies.metrics),
      heights: dependencies.charts.heights,
      facts,
    },
  );
  const webSocket = health.webSocket
    ? watchWebSocket(
        { url: node.webSocketUrl, intervalMs: health.webSocketIntervalMs, timeoutMs, signal },
        { ...dependencies, facts },
      )
    : undefined;
  const comparing = { ...dependencies, health: http.current, facts, check: http.check, compared: http.compared };
  const references = startReferences({ ...lag, timeoutMs, signal }, comparing);
  return {
    ...http,
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all([http.done, webSocket, references]);
    },
  };
}

/** Starts comparing the node with its references, if it has any: otherwise the code is not even loaded. */
async function startReferences(
  options: ReferenceWatchOptions,
  dependencies: ReferenceWatchDependencies,
): Promise<void> {
  if (options.references.length === 0) return;
  const { watchReferences } = await import("./reference-watch.ts");
  await watchReferences(options, dependencies);
}

/** Drivers whose node is reached at its own address, including from another host or container. */
const ownAddress: ReadonlySet<string> = new Set(["ops", "compose", "docker"]);

/**
 * Returns whether a refused connection shows that nothing listens on the node's port and therefore that the node's process has exited. A
 * Kubernetes Service also refuses connections while no pod behind it is ready, as does a load balancer that has no backend; the processes
 * behind them may still be running.
 */
export function isRejectionFinal(httpUrl: string, driver: string | undefined): boolean {
  return isLoopback(readUrlHost(new URL(httpUrl))) || (driver !== undefined && ownAddress.has(driver));
}
