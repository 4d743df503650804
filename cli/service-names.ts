/**
 * The name of every service that has settings. Apart from their definitions (`service-definitions.ts`, which is typed by these names), because the
 * command line names them at each start and only what is run pays for its schema.
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
