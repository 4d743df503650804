import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import { pushgatewaySettings } from "#devnet/pushgateway/settings.ts";
import { devnetSettings } from "#devnet/settings.ts";
import { upstreamSettings } from "#devnet/upstream/settings.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { engineProxySettings } from "#engine-proxy/settings.ts";
import { gatewaySettings } from "#gateway/settings.ts";
import { restoreSettings } from "#sidecar/restore/settings.ts";
import { volumeSnapshotSettings } from "#sidecar/volume-snapshot/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import type { ServiceName } from "./service-names.ts";

/** Settings of every service, in the order of the documentation. */
export const serviceDefinitions: Readonly<Record<ServiceName, SettingsDefinition>> = {
  sidecar: sidecarSettings,
  gateway: gatewaySettings,
  "engine-proxy": engineProxySettings,
  restore: restoreSettings,
  "volume-snapshot": volumeSnapshotSettings,
  facilitator: facilitatorSettings,
  "resource-server": resourceServerSettings,
  devnet: devnetSettings,
  pushgateway: pushgatewaySettings,
  upstream: upstreamSettings,
};
