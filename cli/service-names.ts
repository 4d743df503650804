/**
 * Names of all services with settings. Separate from their definitions (`service-definitions.ts`, which is typed by these names), because
 * the command line needs the names at each start, and loads only the schema of the service that is run.
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
