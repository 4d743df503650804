import { isLoopback } from "#daemon/http/loopback.ts";

/** Drivers whose node is reached by its own address, also from another host or container. */
const ownAddress: ReadonlySet<string> = new Set(["ops", "compose", "docker"]);

/**
 * Whether a connection that is refused tells that nothing listens on the node's port, so that its process has ended. A Service of Kubernetes refuses
 * connections, too, while no pod behind it is ready, and a load balancer while it knows of none; the processes behind them may run on.
 */
export function refusalTellsEnd(httpUrl: string, driver: string | undefined): boolean {
  const host = new URL(httpUrl).hostname.replace(/^\[|\]$/g, "");
  return isLoopback(host) || (driver !== undefined && ownAddress.has(driver));
}
