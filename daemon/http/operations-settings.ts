import { allowedHosts, host, milliseconds, port } from "../settings/types.ts";
import { section } from "../settings/settings.ts";

/** The section `operations` of a service whose probes and metrics have a listener of their own; see `listenForOperations`. */
export function operationsSettings(options: Readonly<{ port: number; nothing: string }>) {
  return section({
    host: host
      .default("127.0.0.1")
      .describe(`Address of the health and metrics listener; nothing is ${options.nothing} there`),
    port: port.default(options.port).describe("Port of the health and metrics listener: /livez, /readyz, /metrics"),
    allowedHosts,
    requestTimeoutMs: milliseconds
      .default(5_000)
      .describe("How long a client of that listener may take to send a request"),
  });
}
