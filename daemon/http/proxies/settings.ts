import { z } from "zod";
import { yesOrNo } from "../../settings/types.ts";

/** Addresses and CIDR ranges. */
export const networks = z
  .array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()]))
  .max(64)
  .meta({ expected: "up to 64 IP addresses or CIDR ranges, separated by commas" });

/** What a listener is told of the proxies before it, for a section of its settings. */
export const proxySettings = {
  trustedProxies: networks
    .default([])
    .describe("Addresses of the proxies that are believed whom they ask for; empty: nobody is"),
  forwardedHeader: z
    .enum(["x-forwarded-for", "forwarded"])
    .default("x-forwarded-for")
    .describe(
      "Header in which trusted proxies tell the client's address; the other one is never read, because a proxy may pass on a client's own",
    )
    .meta({ expected: "x-forwarded-for or forwarded" }),
  forwardedHops: z
    .int()
    .min(1)
    .max(64)
    .default(8)
    .describe("Most trusted proxies one behind another; 1: whatever address the nearest one tells is the client's")
    .meta({ expected: "a whole number from 1 to 64" }),
  proxyProtocol: yesOrNo
    .default(false)
    .describe("Whether every connection of a trusted proxy begins with a PROXY protocol header, version 1 or 2"),
} as const;

/** The proxies before a listener, as settings tell of them. */
export type ProxySettings = Readonly<{
  trustedProxies: readonly string[];
  forwardedHeader: "x-forwarded-for" | "forwarded";
  forwardedHops: number;
  proxyProtocol: boolean;
}>;
