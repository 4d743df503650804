import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { start, startNginx, type BenchProcess } from "../bench/gateway/proxies.ts";

export type ProxyLocation = Readonly<{ folder: string; port: number; behindPort: string }>;

export type StartProxy = (place: ProxyLocation) => Promise<BenchProcess>;

export function prepareNginx(headers: string): StartProxy {
  return ({ folder, port, behindPort }) =>
    startNginx(
      folder,
      port,
      `map $http_upgrade $kept { default upgrade; '' ''; }
       server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${behindPort}; proxy_http_version 1.1;
         proxy_set_header Connection $kept; proxy_set_header Upgrade $http_upgrade; ${headers} } }`,
    );
}

export function prepareKeepingNginx(headers: string): StartProxy {
  return ({ folder, port, behindPort }) =>
    startNginx(
      folder,
      port,
      `upstream behind { server 127.0.0.1:${behindPort}; keepalive 1; }
       server { listen 127.0.0.1:${port}; location / { proxy_pass http://behind; proxy_http_version 1.1;
         proxy_set_header Connection ""; ${headers} } }`,
    );
}

export function prepareHaproxy(mode: string, server: string): StartProxy {
  return ({ folder, port, behindPort }) => {
    const config = join(folder, `haproxy-${port}.cfg`);
    writeFileSync(
      config,
      `global\n  nbthread 1\ndefaults\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  timeout tunnel 60s\n` +
        `listen front\n  bind 127.0.0.1:${port}\n  ${mode}\n  server behind 127.0.0.1:${behindPort} ${server}\n`,
    );
    return start("haproxy", ["-db", "-f", config], port);
  };
}

/** Transport of Envoy's connections to the gateway, which first sends a PROXY header of this version. */
const buildProxyTransport = (version: "V1" | "V2") => ({
  name: "envoy.transport_sockets.upstream_proxy_protocol",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport",
    config: { version },
    transport_socket: {
      name: "envoy.transport_sockets.raw_buffer",
      typed_config: { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer" },
    },
  },
});

function buildEnvoyAddress(portValue: number) {
  return { socket_address: { address: "127.0.0.1", port_value: portValue } };
}

/**
 * Prepares an Envoy that forwards requests and WebSockets, and sends each client's address in `X-Forwarded-For`, with
 * `proxyProtocol` also in PROXY headers.
 */
export function prepareEnvoy({ proxyProtocol }: Readonly<{ proxyProtocol?: "V1" | "V2" }> = {}): StartProxy {
  return ({ folder, port, behindPort }) => {
    const manager = {
      "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
      stat_prefix: "rpc",
      use_remote_address: true,
      upgrade_configs: [{ upgrade_type: "websocket" }],
      http_filters: [
        {
          name: "envoy.filters.http.router",
          typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
        },
      ],
      route_config: {
        virtual_hosts: [
          { name: "rpc", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "gateway" } }] },
        ],
      },
    };
    const cluster = {
      name: "gateway",
      load_assignment: {
        cluster_name: "gateway",
        endpoints: [{ lb_endpoints: [{ endpoint: { address: buildEnvoyAddress(Number(behindPort)) } }] }],
      },
      ...(proxyProtocol === undefined ? {} : { transport_socket: buildProxyTransport(proxyProtocol) }),
    };
    const filter = { name: "envoy.filters.network.http_connection_manager", typed_config: manager };
    const listener = { address: buildEnvoyAddress(port), filter_chains: [{ filters: [filter] }] };
    const config = join(folder, `envoy-${port}.json`);
    writeFileSync(config, JSON.stringify({ static_resources: { listeners: [listener], clusters: [cluster] } }));
    return start("envoy", ["-c", config, "--concurrency", "1", "--disable-hot-restart", "--log-level", "off"], port);
  };
}
