import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import type { DevnetSettings } from "#devnet/prepared-node.ts";
import { pushgatewaySettings } from "#devnet/pushgateway/settings.ts";
import { devnetSettings } from "#devnet/settings.ts";
import { upstreamSettings } from "#devnet/upstream/settings.ts";
import { facilitatorSettings, type FacilitatorSettings } from "#facilitator/settings.ts";
import { resourceServerSettings, type ResourceServerSettings } from "#resource-server/settings.ts";
import { sidecarSettings, type SidecarSettings } from "#sidecar/settings.ts";
import type { RequestedPort } from "./free-ports.ts";

type Listener = Readonly<{ host: string; port: number }>;

type PortSettings = Readonly<{
  devnet: DevnetSettings;
  pushgateway: Listener;
  upstream: Listener;
  sidecar: SidecarSettings;
  facilitator: FacilitatorSettings;
  resourceServer: ResourceServerSettings;
}>;

/** Lists the ports that the parts of a stack listen on, each with its setting. */
export function listStackPorts({
  devnet: { node },
  pushgateway,
  upstream,
  sidecar,
  facilitator,
  resourceServer,
}: PortSettings): readonly RequestedPort[] {
  const nodePort = (port: number) => ({ host: node.listenHost, port });
  return [
    requestPort("node", nodePort(node.httpPort), devnetSettings, "node", "httpPort"),
    requestPort("node's WebSocket", nodePort(node.webSocketPort), devnetSettings, "node", "webSocketPort"),
    requestPort("Pushgateway", pushgateway, pushgatewaySettings),
    requestPort("sample upstream", upstream, upstreamSettings),
    requestPort("gateway", sidecar.gateway.public, sidecarSettings, "gateway", "public", "port"),
    requestPort("sidecar", sidecar.listen, sidecarSettings),
    requestPort("facilitator", facilitator.listen, facilitatorSettings),
    requestPort("facilitator's metrics", facilitator.operations, facilitatorSettings, "operations", "port"),
    requestPort("resource server", resourceServer.listen, resourceServerSettings),
    requestPort("resource server's metrics", resourceServer.operations, resourceServerSettings, "operations", "port"),
  ];
}

function requestPort(
  owner: string,
  { host, port }: Listener,
  { service }: SettingsDefinition,
  ...path: readonly string[]
): RequestedPort {
  return { owner, host, port, setting: toEnvironmentName(service, path.length === 0 ? ["listen", "port"] : path) };
}
