import { Counter, Gauge, type GaugeConfiguration, type Registry } from "prom-client";

/** Reason for refusing a connection: the total limit, the address's limit, or the address's rate. */
export type ConnectionRejection = "full" | "address" | "rate";

/** Counters of connections refused, or closed to free slots for others. */
export type ConnectionMetrics = Readonly<{
  refused: (listener: string, reason: ConnectionRejection) => void;
  shed: (listener: string) => void;
}>;

/** Gauge values, read at each scrape. */
export type DisplayedConnections = Readonly<{ open: () => ReadonlyMap<string, number>; most: () => number }>;

/** Creates the Prometheus metrics of connections. `process_open_fds` and `process_max_fds` cover descriptors of all kinds. */
export function createConnectionMetrics(registry: Registry, { open, most }: DisplayedConnections): ConnectionMetrics {
  const registers = [registry];
  const gauge = (configuration: Omit<GaugeConfiguration<"listener">, "registers">) =>
    new Gauge({ ...configuration, registers });
  gauge({
    name: "gatehouse_connections",
    help: "Open connections of clients, by listener.",
    labelNames: ["listener"],
    collect() {
      for (const [listener, count] of open()) this.set({ listener }, count);
    },
  });
  gauge({
    name: "gatehouse_connections_limit",
    help: "Connections that file descriptors and memory allow the listeners together at this time; the operators' listener has its own.",
    collect() {
      this.set(most());
    },
  });
  const refused = new Counter({
    name: "gatehouse_connections_rejected_total",
    help: "Connections that were closed unserved. full: no room for any; address: too many of one address; rate: one address made too many a second, unanswered.",
    labelNames: ["listener", "reason"],
    registers,
  });
  const shed = new Counter({
    name: "gatehouse_connections_shed_total",
    help: "Idle or unfinished connections that were closed to make room for others.",
    labelNames: ["listener"],
    registers,
  });
  return {
    refused: (listener, reason) => refused.inc({ listener, reason }),
    shed: (listener) => shed.inc({ listener }),
  };
}
