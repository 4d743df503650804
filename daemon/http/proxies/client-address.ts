import { isIP, BlockList, isIPv6, isIPv4 } from "node:net";
import type { IncomingHttpHeaders } from "node:http";
import ipaddr from "ipaddr.js";
import { memoize } from "../../memoize.ts";
import type { ProxySettings } from "../settings.ts";

export type ClientAddress = Readonly<{
  /** Whether a peer's forwarding headers are trusted. */
  isTrusted: (remoteAddress: string) => boolean;
  /** The client's address, in plain form, given the request's X-Forwarded-For. */
  of: (remoteAddress: string, forwardedFor: string | undefined) => string;
}>;

/** Cache of which peers and earlier hops are trusted. An address has at most 45 characters, plus a zone. */
const rememberedPeers = { max: 10_000, nameLength: 128 };

/**
 * Determines the client's address: the connection's own, unless that is a trusted proxy; then the last address in X-Forwarded-For that isn't a
 * trusted proxy's, or the one `forwardedHops` proxies back. Addresses further left are client-supplied and never trusted.
 */
export function findClientAddress({
  trustedProxies,
  forwardedHops: hopsMax,
}: Omit<ProxySettings, "proxyProtocol">): ClientAddress {
  const isProxy = createNetworkList(trustedProxies);
  const isTrusted = trustedProxies.length === 0 ? () => false : memoize(rememberedPeers, isProxy);
  return {
    isTrusted,
    of: (remoteAddress, forwardedFor) => {
      let client: string | undefined;
      if (forwardedFor !== undefined && isTrusted(remoteAddress)) {
        for (const hop of splitFromEnd(forwardedFor, hopsMax)) {
          if (client !== undefined && !isTrusted(client)) break;
          const address = readNodeAddress(hop);
          if (address === undefined) break;
          client = address;
        }
      }
      return client ?? toPlainAddress(remoteAddress) ?? remoteAddress;
    },
  };
}

const bracketedAddress = /^\[([^\]]+)\](?::\d{1,5})?$/;
const withPort = /^([\d.]+):\d{1,5}$/;

/** Parses an address that some proxies write with a port. Undefined for `unknown` and anything else that isn't an address. */
function readNodeAddress(node: string): string | undefined {
  const text = node.trim();
  if (isIPv4(text)) return text;
  const host = bracketedAddress.exec(text)?.[1] ?? withPort.exec(text)?.[1] ?? text;
  return isIP(host) === 0 ? undefined : toPlainAddress(host);
}

/** Creates a check for addresses and CIDR ranges; an IPv4-mapped IPv6 address counts as IPv4. */
export function createNetworkList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** Number of leading 16-bit groups of an IPv6 address that identify a single client's network. */
const networkGroups = 4;

/**
 * Returns the key of a client for per-address limits: an IPv4 address, also if mapped into IPv6, or an IPv6 client's own /64 (RFC 4291,
 * section 2.5.4). Text that isn't an address is its own key.
 *
 * @example
 * toAddressKey("::ffff:192.0.2.7"); // "192.0.2.7"
 * toAddressKey("2001:db8::1"); // "2001:db8:0:0::/64"
 */
export function toAddressKey(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, networkGroups).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** Converts an address to plain form: IPv4-mapped IPv6 becomes IPv4. Undefined for text that isn't an address. */
function toPlainAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : undefined;
}

/** Reads the X-Forwarded-For of a request parsed by node:http; repeated headers are joined by commas. */
export function readForwardedFor({ "x-forwarded-for": value }: IncomingHttpHeaders): string | undefined {
  return typeof value === "object" ? value.join(",") : value;
}

/** Splits off the last elements of a comma-separated list, the last one first: anything that a client put before them is not read, however long. */
function splitFromEnd(list: string, most: number): readonly string[] {
  const elements: string[] = [];
  for (let end = list.length; elements.length < most;) {
    const comma = end === 0 ? -1 : list.lastIndexOf(",", end - 1);
    elements.push(list.slice(comma + 1, end));
    if (comma === -1) break;
    end = comma;
  }
  return elements;
}
