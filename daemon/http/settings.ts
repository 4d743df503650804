import { z } from "zod";
import { pageLinks } from "./page-links.ts";
import { positiveInteger, yesOrNo, allowedHosts, host, milliseconds, port } from "../settings/types.ts";
import { section } from "../settings/settings.ts";

/** Settings for client connections, as part of a service's section. */
export const connectionSettings = {
  connections: positiveInteger
    .default(20_000)
    .describe("Most open connections of one listener; file descriptors and memory may allow fewer"),
  connectionsPerAddress: positiveInteger
    .default(1_024)
    .describe(
      "Most open connections of one address, IPv6 by /64, and never more than half of all; those of trusted proxies are not counted",
    ),
  newConnectionsPerAddress: positiveInteger
    .default(300)
    .describe(
      "New connections of one address a second, IPv6 by /64, after as many at once as it may have open; more are closed unanswered. Those of trusted proxies are not counted",
    ),
  descriptorReserve: positiveInteger
    .default(192)
    .describe(
      "File descriptors that clients' connections leave to the rest of the process; under a low limit three quarters of it",
    ),
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
  trustedProxies: networks
    .default([])
    .describe("Addresses of proxies whose forwarded client address is trusted; empty trusts none"),
  forwardedHeader: z
    .enum(["x-forwarded-for", "forwarded"])
    .default("x-forwarded-for")
    .describe(
      "Header in which trusted proxies give the client's address; the other one is never read, because a proxy may pass on a client's own",
    )
    .meta({ expected: "x-forwarded-for or forwarded" }),
  forwardedHops: z
    .int()
    .min(1)
    .max(64)
    .default(8)
    .describe("Most trusted proxies one behind another; 1: whatever address the nearest one gives is the client's")
    .meta({ expected: "a whole number from 1 to 64" }),
  proxyProtocol: yesOrNo
    .default(false)
    .describe("Whether every connection of a trusted proxy begins with a PROXY protocol header, version 1 or 2"),
} as const;

/** Proxies in front of a listener, as parsed from its settings. */
export type ProxySettings = Readonly<{
  trustedProxies: readonly string[];
  forwardedHeader: "x-forwarded-for" | "forwarded";
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
      .describe("Port of the health and metrics listener: /livez, /readyz, /metrics, and at / a page"),
    allowedHosts,
    requestTimeoutMs: milliseconds
      .default(5_000)
      .describe("How long a client of that listener may take to send a request"),
    pages: pageLinks,
  });
}
