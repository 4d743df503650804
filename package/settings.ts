/** `gatehouse-evm/settings`: the zod schema for each service's settings, which both the service and a deployment use to read them. */
export { readSettings, type SettingsDefinition, type SettingsSources } from "#daemon/settings/settings.ts";
export { SettingsError, type SettingsProblem } from "#daemon/settings/problem.ts";
export { devnetSettings } from "#devnet/settings.ts";
export { engineProxySettings } from "#engine-proxy/settings.ts";
export { facilitatorSettings } from "#facilitator/settings.ts";
export { gatewaySettings } from "#gateway/settings.ts";
export { resourceServerSettings } from "#resource-server/settings.ts";
export { restoreSettings } from "#sidecar/restore/settings.ts";
export { sidecarSettings } from "#sidecar/settings.ts";
export { volumeSnapshotSettings } from "#sidecar/volume-snapshot/settings.ts";
