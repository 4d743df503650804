/**
 * Names of all services with settings. Separate from their definitions (`service-definitions.ts`, typed by these names), because the
 * command line needs the names at every start but loads only the schema of the service that it runs.
 */
export const serviceNames = [
  "sidecar",
  "gateway",
  "engine-proxy",
  "restore",
  "volume-snapshot",
  "facilitator",
  "resource-server",
  "devnet",
  "pushgateway",
  "upstream",
] as const;

export type ServiceName = (typeof serviceNames)[number];
