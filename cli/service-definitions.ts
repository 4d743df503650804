import type { SettingsDefinition } from "#daemon/settings/settings.ts";

/** Loads the settings of each service, in the order of the documentation: a command loads only those of its own service. */
const definitions = {
  sidecar: async () => (await import("#sidecar/settings.ts")).sidecarSettings,
  gateway: async () => (await import("#gateway/settings.ts")).gatewaySettings,
  "engine-proxy": async () => (await import("#engine-proxy/settings.ts")).engineProxySettings,
  restore: async () => (await import("#sidecar/restore/settings.ts")).restoreSettings,
  "volume-snapshot": async () => (await import("#sidecar/volume-snapshot/settings.ts")).volumeSnapshotSettings,
  facilitator: async () => (await import("#facilitator/settings.ts")).facilitatorSettings,
  "resource-server": async () => (await import("#resource-server/settings.ts")).resourceServerSettings,
  devnet: async () => (await import("#devnet/settings.ts")).devnetSettings,
  pushgateway: async () => (await import("#devnet/pushgateway/settings.ts")).pushgatewaySettings,
  upstream: async () => (await import("#devnet/upstream/settings.ts")).upstreamSettings,
} satisfies Readonly<Record<string, () => Promise<SettingsDefinition>>>;

export type ServiceName = keyof typeof definitions;

export const serviceNames = Object.keys(definitions) as readonly ServiceName[];

export function isServiceName(name: string): name is ServiceName {
  return Object.hasOwn(definitions, name);
}

export function loadDefinition(service: ServiceName): Promise<SettingsDefinition> {
  return definitions[service]();
}

export function loadDefinitions(): Promise<readonly SettingsDefinition[]> {
  return Promise.all(serviceNames.map(loadDefinition));
}
