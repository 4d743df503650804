import { Histogram, type Registry } from "prom-client";
import { createSampleGauge } from "#status/charts.ts";
import type { RpcState } from "./rpc-state.ts";

export type HealthMetrics = Readonly<{ observe: (health: RpcState, nowMs: number) => void }>;

/** Creates `gatehouse_node_height_blocks`, `…_height_unchanged_seconds`, `…_up` and `…_rpc_latency_seconds`. */
export function createHealthMetrics(registry: Registry): HealthMetrics {
  const gauge = (name: string, help: string) => createSampleGauge({ name: `gatehouse_node_${name}`, help, registry });
  const up = gauge("up", "1 if the node's RPC responds.");
  const height = gauge("height_blocks", "Last height reported by the node.");
  const unchanged = gauge("height_unchanged_seconds", "Time since the node's height last changed.");
  const latency = new Histogram({
    name: "gatehouse_node_rpc_latency_seconds",
    help: "Latency of eth_blockNumber on the node.",
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2],
    registers: [registry],
  });
  return {
    observe: (health, nowMs) => {
      up.set(health.failure === undefined ? 1 : 0);
      if (health.height !== undefined) height.set(health.height);
      if (health.heightSinceMs !== undefined) unchanged.set((nowMs - health.heightSinceMs) / 1_000);
      if (health.failure === undefined && health.latencyMs !== undefined) latency.observe(health.latencyMs / 1_000);
    },
  };
}
