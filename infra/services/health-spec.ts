import { operatorPaths } from "#daemon/stack-services.ts";

/** How a service is probed; `rpc` is `eth_blockNumber` over HTTP (specification, "Node command line"). */
export type HealthSpec = NetworkHealth | PortHealth | SocketHealth | CommandHealth;

/** A service on a port. */
export type NetworkHealth = Readonly<{
  kind: "http" | "rpc";
  port: string;
  readyPath: string;
  livePath: string;
  startupPath: string;
  /** How long the first start may take before the service counts as failed. */
  startWithinSeconds: number;
  /** The program that probes an image that is not one of Gatehouse's from within; absent: the program of Gatehouse's images. */
  command?: readonly string[];
}>;

/** A service of which one can see from outside its container only whether its port is open. */
export type PortHealth = Readonly<{
  kind: "port";
  port: string;
  /** What its image can be asked with from within, where whoever made the image says so. */
  command: readonly string[] | undefined;
  startWithinSeconds: number;
}>;

/** A service on a Unix socket. */
type SocketHealth = Readonly<{ kind: "socket"; socketPath: string; startWithinSeconds: number }>;

/** A service whose image brings the probing program: status 0 means well. */
type CommandHealth = Readonly<{ kind: "command"; command: readonly string[]; startWithinSeconds: number }>;

/**
 * How often a service is queried, in seconds; both targets take their times from here. Once it is well, seldom where a probe starts a process in
 * its container (Docker), more often where it is a connection from outside (Kubernetes).
 */
export const healthTimes = {
  timeout: 5,
  /** While it starts: a deployment waits for it. */
  startingEvery: 2,
  process: {
    every: 30,
    failures: 3,
    /** Where an engine knows one interval alone: for Gatehouse's program, which rests by itself once the service is well, and for others. */
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
