import type { Registry } from "prom-client";
import { allowedHost, type AllowedHosts } from "./allowed-host.ts";
import { createApp } from "./app.ts";
import { listenHttp, type HttpListener, type ListenOptions } from "./listener.ts";
import type { Logger } from "../log.ts";
import type { Mask } from "../mask.ts";
import { operationsRoutes } from "./operations-routes.ts";
import type { Readiness } from "./readiness.ts";

/** Bodies that the listener takes; none of its routes needs one. */
const bodyLimitBytes = 1_024;

/**
 * Serves `/livez`, `/readyz` and `/metrics` at an address of their own, for a service whose other port is for the public. Requests here
 * are not measured: the service's own series stay about its own traffic.
 *
 * @throws {StartupError} when the port is taken or the address is not this machine's.
 */
export async function listenForOperations(
  options: ListenOptions & AllowedHosts,
  {
    log,
    metrics,
    readiness,
    mask,
  }: Readonly<{
    log: Logger;
    metrics: Registry;
    readiness: () => Readiness;
    mask: Mask;
  }>,
): Promise<HttpListener> {
  const app = createApp({ bodyLimitBytes, isAllowedHost: allowedHost(options) }, { log, mask });
  operationsRoutes(app, { metrics, readiness });
  return listenHttp(app, options);
}
