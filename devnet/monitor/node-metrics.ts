import { Counter, Gauge, type Registry } from "prom-client";
import { createMetrics } from "#daemon/metrics.ts";
import type { Anvil } from "../anvil/anvil.ts";
import type { Pruning } from "../pruning.ts";

export type NodeMetricsSources = Readonly<{ anvil: Pick<Anvil, "onBlock">; pruning: Pruning; height: () => number }>;

export function createNodeMetrics(
  { version }: Readonly<{ version: string }>,
  { anvil, pruning, height }: NodeMetricsSources,
): Registry {
  const registry = createMetrics("devnet");
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  gauge("gatehouse_devnet_block_height", "Number of the newest block.", height);
  gauge("gatehouse_devnet_peers", "Connected peers; a devnet node has none.", () => 0);
  gauge("gatehouse_devnet_uptime_seconds", "Time since the node was started.", () => process.uptime());
  gauge("gatehouse_devnet_auto_prune_enabled", "1 when auto-pruning is on.", () => pruning.info().enable_auto_prune);
  gauge(
    "gatehouse_devnet_prune_reserved_version",
    "Target: storage versions below this are to be pruned.",
    () => pruning.info().prune_reserved_version,
  );
  gauge("gatehouse_devnet_flushed_version", "Newest storage version on disk.", () => pruning.info().flushed_version);
  gauge(
    "gatehouse_devnet_real_prune_reserved_version",
    "Storage versions below this have been pruned.",
    () => pruning.info().real_prune_reserved_version,
  );
  new Gauge({
    name: "gatehouse_devnet_node_info",
    help: "Always 1; the label shows the node's version.",
    labelNames: ["version"],
    registers: [registry],
  }).set({ version }, 1);
  const transactions = new Counter({
    name: "gatehouse_devnet_transactions_total",
    help: "Transactions in blocks since the node was started.",
    registers: [registry],
  });
  anvil.onBlock((block) => transactions.inc(block.transactions.length));
  return registry;
}
