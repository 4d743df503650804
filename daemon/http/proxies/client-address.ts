import { isIP, BlockList, isIPv6, isIPv4 } from "node:net";
import type { IncomingHttpHeaders } from "node:http";
import ipaddr from "ipaddr.js";
import { parse } from "forwarded-parse";
import { memoize } from "../../memoize.ts";
import type { ProxySettings } from "../settings.ts";

export type ClientAddress = Readonly<{
  /** Whether a peer's forwarding headers are trusted. */
  isTrusted: (remoteAddress: string) => boolean;
  /** The value of the header that lists the client behind trusted proxies, if the request has it. */
  forwardedBy: (headers: ForwardedBy) => string | undefined;
  /** The client's address, in plain form. */
  of: (remoteAddress: string, forwarded: string | undefined) => string;
}>;

/** Cache of which peers and earlier hops are trusted. An address has at most 45 characters, plus a zone. */
const keptPeers = { max: 10_000, nameLength: 128 };

/**
 * Determines the client's address: the connection's own, unless that is a trusted proxy; then the last address in the header that isn't a
 * trusted proxy's, or the one `forwardedHops` proxies back. Addresses further left are client-supplied and never trusted.
 */
export function findClientAddress({
  trustedProxies,
  forwardedHeader,
  forwardedHops: hopsMax,
}: Omit<ProxySettings, "proxyProtocol">): ClientAddress {
  const isProxy = createNetworkList(trustedProxies);
  const isTrusted = trustedProxies.length === 0 ? () => false : memoize(keptPeers, isProxy);
  return {
    isTrusted,
    forwardedBy: ({ forwardedFor, forwarded }) => (forwardedHeader === "forwarded" ? forwarded : forwardedFor),
    of: (remoteAddress, forwarded) => {
      let client: string | undefined;
      if (forwarded !== undefined && isTrusted(remoteAddress)) {
        for (const hop of readNearestHops(forwardedHeader, forwarded, hopsMax)) {
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

const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/;
const withPort = /^([\d.]+):\d{1,5}$/;

/**
 * Parses the address of a node in a forwarding header, with or without a port (RFC 7239, section 6); some proxies write ports into
 * X-Forwarded-For too. Undefined for `unknown`, an obfuscated name and anything else that isn't an address.
 */
export function readNodeAddress(node: string): string | undefined {
  const text = node.trim();
  if (isIPv4(text)) return text;
  const host = bracketed.exec(text)?.[1] ?? withPort.exec(text)?.[1] ?? text;
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

/** Headers that list a request's hops; repeated headers are joined by commas. */
export type ForwardedBy = Readonly<{ forwardedFor: string | undefined; forwarded: string | undefined }>;

/** Reads the forwarding headers of a request parsed by node:http. */
export function readForwarded(headers: IncomingHttpHeaders): ForwardedBy {
  return { forwardedFor: joinValues(headers["x-forwarded-for"]), forwarded: joinValues(headers["forwarded"]) };
}

function joinValues(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(",") : value;
}

/**
 * Reads at most `most` nodes from a forwarding header, the nearest first. The nodes are those in X-Forwarded-For, or the `for` parameters
 * of RFC 7239's Forwarded; an element without one yields an empty node. Returns no nodes for an unparsable header.
 */
function readNearestHops(header: "x-forwarded-for" | "forwarded", value: string, most: number): readonly string[] {
  if (header === "x-forwarded-for") return splitFromEnd(value, most);
  try {
    // Ignore empty elements, which nginx writes for a missing header (RFC 9110, section 5.6.1).
    const elements = parse(value.replace(/^[\t ,]+/, ""));
    return elements
      .map((element) => element["for"] ?? "")
      .toReversed()
      .slice(0, most);
  } catch {
    // Unlike a proxy, the client may send anything. If it does, only the proxy's own address is known.
    return [];
  }
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
