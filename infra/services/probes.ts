import { operatorPaths } from "#daemon/http/operator-paths.ts";

export type HealthSpec = (HttpHealth | NodeHealth | SocketHealth | CommandHealth) &
  Readonly<{
    /** How long the first start may take, in seconds, before the service counts as failed. */
    startWithinSeconds: number;
  }>;

type HttpHealth = Readonly<{
  kind: "http";
  port: string;
  readyPath: string;
  livePath: string;
  startupPath: string;
  /** State that an engine's health check tests, and that a deployment waits for; default: `ready`. */
  waitFor?: "ready" | "live";
  /** Command that probes a third-party image from within; if absent, the program in Gatehouse's images is used. */
  command?: readonly string[];
}>;

/** Probe of a node: `eth_blockNumber` over HTTP (specification, "Node command line"), or only whether its port is open. */
type NodeHealth =
  | Readonly<{ kind: "rpc"; port: string }>
  | Readonly<{
      kind: "port";
      port: string;
      /** Command that checks the node from within, if the vendor of the image documents one. */
      command: readonly string[] | undefined;
    }>;

type SocketHealth = Readonly<{ kind: "socket"; socketPath: string }>;

/** Probe of a service whose image includes the probe program: status 0 means healthy. */
type CommandHealth = Readonly<{ kind: "command"; command: readonly string[] }>;

/**
 * Timing of a service's probes, in seconds, for both targets. A healthy service is probed rarely if a probe starts a process in its
 * container (Docker), and more often if it is a connection from outside (Kubernetes).
 */
export const healthTimes = {
  timeout: 5,
  /** While the service starts, because a deployment waits for it. */
  startingEvery: 2,
  process: {
    every: 30,
    failures: 3,
    /**
     * For engines that support only one interval: one for Gatehouse's program, which sleeps by itself once the service is healthy, and one
     * for other programs.
     */
    withoutStartInterval: { rests: { every: 2, failures: 5 }, others: { every: 5, failures: 3 } },
  },
  connection: { ready: { every: 5, failures: 3 }, live: { every: 10, failures: 6 } },
} as const;

export const daemonHealth = {
  kind: "http",
  port: "http",
  readyPath: operatorPaths.ready,
  livePath: operatorPaths.live,
  startupPath: operatorPaths.live,
  startWithinSeconds: 60,
} as const satisfies HealthSpec;
