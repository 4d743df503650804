import { plainAddress } from "./address-key.ts";
import { forwardedHops, type ForwardedBy } from "./forwarded-hops.ts";
import { memoize } from "../../memoize.ts";
import type { ProxySettings } from "./settings.ts";
import { isIP, BlockList, isIPv6 } from "node:net";

/** Finds out which address requests really come from. */
export type ClientAddress = Readonly<{
  /** Whether what a peer says of a request's way is believed. */
  isTrusted: (remoteAddress: string) => boolean;
  /** The header's value that trusted proxies tell a client's address in, of those that a request has. */
  told: (headers: ForwardedBy) => string | undefined;
  /** The client's address, in its plain form. */
  of: (remoteAddress: string, told: string | undefined) => string;
}>;

/** Peers of which it is remembered whether they are trusted. An address has at most 45 characters, and a zone. */
const keptPeers = { most: 10_000, nameLength: 128 };

/**
 * Reads the client's address: the connection's own, unless that is a trusted proxy; then the last address that the header names and
 * that is no trusted proxy's, or the one that `forwardedHops` proxies lead to. Addresses further left are the client's own words and
 * are never believed.
 */
export function clientAddress({
  trustedProxies,
  forwardedHeader,
  forwardedHops: hopsMax,
}: Omit<ProxySettings, "proxyProtocol">): ClientAddress {
  const isProxy = networkList(trustedProxies);
  const isTrusted = trustedProxies.length === 0 ? () => false : memoize(keptPeers, isProxy);
  return {
    isTrusted,
    told: ({ forwardedFor, forwarded }) => (forwardedHeader === "forwarded" ? forwarded : forwardedFor),
    of: (remoteAddress, told) => {
      let client = plainAddress(remoteAddress) ?? remoteAddress;
      if (told === undefined || !isTrusted(remoteAddress)) return client;
      const hops = forwardedHops(forwardedHeader, told);
      const believed = Math.min(hops.length, hopsMax);
      for (let hop = 1; hop <= believed && isProxy(client); hop += 1) {
        const address = addressOfNode(hops[hops.length - hop] ?? "");
        if (address === undefined) break;
        client = address;
      }
      return client;
    },
  };
}

const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/;
const withPort = /^([\d.]+):\d{1,5}$/;

/**
 * The address in what a proxy calls a node, with or without a port (RFC 7239, section 6); some write ports into X-Forwarded-For too.
 * Undefined for `unknown`, a hidden name and whatever else is no address.
 */
export function addressOfNode(node: string): string | undefined {
  const text = node.trim();
  const host = bracketed.exec(text)?.[1] ?? withPort.exec(text)?.[1] ?? text;
  return isIP(host) === 0 ? undefined : plainAddress(host);
}

/** Whether an address lies in one of these networks, given as addresses and CIDR ranges; an IPv4 address mapped into IPv6 counts as itself. */
export function networkList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
