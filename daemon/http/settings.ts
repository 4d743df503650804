import { z } from "zod";
import { pageLinks } from "./page-links.ts";
import { positiveInteger, yesOrNo, allowedHosts, host, port } from "../settings/types.ts";
import { section, fixed } from "../settings/section.ts";

/** Default max open connections per listener. */
export const connectionsMax = 20_000;

/** Settings for client connections, as part of a service's section. */
export const connectionSettings = {
  connections: positiveInteger
    .default(connectionsMax)
    .describe("Max open connections per listener; limits on file descriptors and memory may lower it"),
  connectionsPerAddress: positiveInteger
    .default(1_024)
    .describe(
      "Max open connections per client address (IPv6: /64), at most half of all connections; trusted proxies are exempt",
    ),
  /** Max new connections per second and client address (IPv6: /64), after a burst of as many as the address may have open. */
  newConnectionsPerAddress: fixed(300),
  /** File descriptors reserved for the rest of the process. */
  descriptorReserve: fixed(192),
} as const;

/** Connection limits of a service, as parsed from its settings. */
export type ConnectionSettings = Readonly<{
  connections: number;
  connectionsPerAddress: number;
  newConnectionsPerAddress: number;
  descriptorReserve: number;
}>;

/** Addresses and CIDR ranges. */
export const networks = z
  .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()]))
  .max(64)
  .meta({ expected: "up to 64 IP addresses or CIDR ranges, separated by commas" });

/** Settings for the proxies in front of a listener, as part of a service's section. */
export const proxySettings = {
  trustedProxies: networks.default([]).describe("Proxy addresses whose X-Forwarded-For is trusted; empty trusts none"),
  forwardedHops: z
    .int()
    .min(1)
    .max(64)
    .default(8)
    .describe("Max chained trusted proxies; 1: the address from the nearest proxy is the client's")
    .meta({ expected: "a whole number from 1 to 64", needs: "trustedProxies" }),
  proxyProtocol: yesOrNo
    .default(false)
    .describe("Whether every connection from a trusted proxy starts with a PROXY protocol header, version 1 or 2")
    .meta({ needs: "trustedProxies" }),
} as const;

/** Proxies in front of a listener, as parsed from its settings. */
export type ProxySettings = Readonly<{
  trustedProxies: readonly string[];
  forwardedHops: number;
  proxyProtocol: boolean;
}>;

/** Defines the `operations` section of a service with a separate listener for probes and metrics; see `listenForOperations`. */
export function defineOperationsSettings(options: Readonly<{ port: number; nothing: string }>) {
  return section({
    host: host
      .default("127.0.0.1")
      .describe(`Address of the health and metrics listener; nothing is ${options.nothing} there`),
    port: port
      .default(options.port)
      .describe("Port of the health and metrics listener: /livez, /readyz, /metrics, and a status page at /"),
    allowedHosts,
    /** Timeout for receiving a request on that listener. */
    requestTimeoutMs: fixed(5_000),
    pages: pageLinks,
  });
}
