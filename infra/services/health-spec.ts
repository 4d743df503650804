import { operatorPaths } from "#daemon/stack-services.ts";

/** Probe of a service; `rpc` is `eth_blockNumber` over HTTP (specification, "Node command line"). */
export type HealthSpec = NetworkHealth | PortHealth | SocketHealth | CommandHealth;

/** A service on a port. */
export type NetworkHealth = Readonly<{
  kind: "http" | "rpc";
  port: string;
  readyPath: string;
  livePath: string;
  startupPath: string;
  /** Time that the first start may take, in seconds, before the service counts as failed. */
  startWithinSeconds: number;
  /** State that an engine's health check stands for, and that a deployment waits for; default: `ready`. */
  awaited?: "ready" | "live";
  /** Command that probes an image other than Gatehouse's from within; absent: the program of Gatehouse's images. */
  command?: readonly string[];
}>;

/** A service that shows outside of its container only whether its port is open. */
export type PortHealth = Readonly<{
  kind: "port";
  port: string;
  /** Command that checks it from within, if whoever made its image says so. */
  command: readonly string[] | undefined;
  startWithinSeconds: number;
}>;

/** A service on a Unix socket. */
type SocketHealth = Readonly<{ kind: "socket"; socketPath: string; startWithinSeconds: number }>;

/** A service whose image brings the probing program: status 0 means well. */
type CommandHealth = Readonly<{ kind: "command"; command: readonly string[]; startWithinSeconds: number }>;

/**
 * Times between probes of a service, in seconds; both targets take theirs from here. A service that is well is probed seldom if a probe starts a process
 * in its container (Docker), more often if it is a connection from outside (Kubernetes).
 */
export const healthTimes = {
  timeout: 5,
  /** While it starts: a deployment waits for it. */
  startingEvery: 2,
  process: {
    every: 30,
    failures: 3,
    /** For engines that know one interval only: of Gatehouse's program, which rests by itself once the service is well, and of other programs. */
    withoutStartInterval: { rests: { every: 2, failures: 5 }, others: { every: 5, failures: 3 } },
  },
  connection: { ready: { every: 5, failures: 3 }, live: { every: 10, failures: 6 } },
} as const;

/** The probe of a service that has no more than `/livez` and `/readyz`. */
export const daemonHealth: NetworkHealth = {
  kind: "http",
  port: "http",
  readyPath: operatorPaths.ready,
  livePath: operatorPaths.live,
  startupPath: operatorPaths.live,
  startWithinSeconds: 60,
};
