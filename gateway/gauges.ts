import { Gauge, type Registry } from "prom-client";
import type { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import type { HeadTracker } from "./chain/chain-head.ts";
import type { LoadGate } from "./limits/load-gate.ts";
import type { RateLimiter } from "./limits/rate-limiter.ts";
import type { Listeners } from "./listener/listeners.ts";
import type { Node } from "./node.ts";
import type { ResponseCache } from "./reads/response-cache.ts";

export type GaugeSources = Readonly<{
  gate: LoadGate;
  limiter: Pick<RateLimiter, "isShared">;
  memory: MemoryBudget;
  upstream: Node;
  cache: ResponseCache;
  listeners: Listeners;
  head: HeadTracker;
}>;

/** Registers the gateway's state as gauges, read at scrape time. */
export function registerGauges(
  metrics: Registry,
  { gate, limiter, memory, upstream, cache, listeners, head }: GaugeSources,
): void {
  const gauge = (name: string, help: string, read: () => number | undefined) =>
    new Gauge({
      name: `gatehouse_gateway_${name}`,
      help,
      registers: [metrics],
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  gauge(
    "calls_in_flight",
    "In-flight calls to the node; every 25 batched reads count as one call.",
    () => gate.callsInFlight,
  );
  gauge(
    "calls_queued",
    "Calls queued for a connection to the node, or because of their caller's concurrency limit or that of heavy calls.",
    () => upstream.pool.waiting + gate.callsWaiting,
  );
  gauge(
    "buffered_bytes",
    "Bytes buffered for clients: incomplete requests, in-flight calls, unread responses.",
    () => memory.bytes,
  );
  gauge("cache_bytes", "Size of cached responses.", () => cache.bytes());
  gauge("cache_entries", "Number of cached responses.", () => cache.entries());
  gauge("websocket_clients", "WebSocket clients on all listeners.", listeners.webSockets);
  gauge("subscriptions", "Subscriptions held by all clients.", listeners.subscriptions);
  gauge("upstream_subscriptions", "Subscriptions on the node.", () => upstream.hub.upstreamSubscriptions());
  gauge(
    "rate_store_connected",
    "1 if rates are limited across replicas, 0 if the rate store doesn't respond; absent without rateStore.redisUrl.",
    () => limiter.isShared && Number(limiter.isShared()),
  );
  gauge("upstream_connected", "1 if the node's WebSocket is connected, 0 if not.", () => Number(upstream.isLinked()));
  gauge(
    "head_age_seconds",
    "Age of the node's latest block by its timestamp, or else since first seen; absent while unknown.",
    () => {
      const ageMs = head.blockAgeMs();
      return ageMs === undefined ? undefined : ageMs / 1_000;
    },
  );
  gauge("head_block_number", "Number of the node's latest block known to the gateway; absent until known.", () => {
    const latestNumber = head.known()?.latest;
    return latestNumber === undefined ? undefined : Number(latestNumber);
  });
}
