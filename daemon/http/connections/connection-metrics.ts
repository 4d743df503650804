import { Counter, Gauge, type GaugeConfiguration, type Registry } from "prom-client";

/** Reason for refusing a connection: the total limit, the address's limit, or the address's rate. */
export type ConnectionRejection = "full" | "address" | "rate";

export type ConnectionMetrics = Readonly<{
  rejected: (listener: string, reason: ConnectionRejection) => void;
  shed: (listener: string) => void;
}>;

export type ReportedConnections = Readonly<{ open: () => ReadonlyMap<string, number>; max: () => number }>;

/** Creates the Prometheus metrics for connections. `process_open_fds` and `process_max_fds` cover descriptors of all kinds. */
export function createConnectionMetrics(registry: Registry, { open, max }: ReportedConnections): ConnectionMetrics {
  const registers = [registry];
  const gauge = (configuration: Omit<GaugeConfiguration<"listener">, "registers">) =>
    new Gauge({ ...configuration, registers });
  gauge({
    name: "gatehouse_connections",
    help: "Open client connections, by listener.",
    labelNames: ["listener"],
    collect() {
      for (const [listener, count] of open()) this.set({ listener }, count);
    },
  });
  gauge({
    name: "gatehouse_connections_limit",
    help: "Max connections for all listeners, given current file descriptors and memory; the admin port has its own limit.",
    collect() {
      this.set(max());
    },
  });
  const rejectedCounter = new Counter({
    name: "gatehouse_connections_rejected_total",
    help: "Connections closed unserved. full: connection limit reached; address: too many from one address; rate: too many per second from one address, closed without a response.",
    labelNames: ["listener", "reason"],
    registers,
  });
  const shed = new Counter({
    name: "gatehouse_connections_shed_total",
    help: "Idle or unfinished connections closed to admit others.",
    labelNames: ["listener"],
    registers,
  });
  return {
    rejected: (listener, reason) => rejectedCounter.inc({ listener, reason }),
    shed: (listener) => shed.inc({ listener }),
  };
}
