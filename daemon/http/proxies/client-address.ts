import { isIP, BlockList, isIPv6, isIPv4 } from "node:net";
import type { IncomingHttpHeaders } from "node:http";
import ipaddr from "ipaddr.js";
import { parse } from "forwarded-parse";
import { memoize } from "../../memoize.ts";
import type { ProxySettings } from "../settings.ts";

/** Finds out which address requests really come from. */
export type ClientAddress = Readonly<{
  /** Whether what a peer says of a request's way is believed. */
  isTrusted: (remoteAddress: string) => boolean;
  /** The value of the header that names the client behind trusted proxies, if the request has it. */
  forwardedBy: (headers: ForwardedBy) => string | undefined;
  /** The client's address, in its plain form. */
  of: (remoteAddress: string, forwarded: string | undefined) => string;
}>;

/** Peers, and hops before them, of which it is remembered whether they are trusted: nearly all hops are the same few proxies. An address has at most 45 characters, and a zone. */
const keptPeers = { most: 10_000, nameLength: 128 };

/**
 * Reads the client's address: the connection's own, unless that is a trusted proxy; then the last address that the header names and
 * that is no trusted proxy's, or the one that `forwardedHops` proxies lead to. Addresses further left are the client's own words and
 * are never believed.
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
 * Reads the address in what a proxy calls a node, with or without a port (RFC 7239, section 6); some write ports into
 * X-Forwarded-For too. Undefined for `unknown`, a hidden name and whatever else is not an address.
 */
export function readNodeAddress(node: string): string | undefined {
  const text = node.trim();
  if (isIPv4(text)) return text;
  const host = bracketed.exec(text)?.[1] ?? withPort.exec(text)?.[1] ?? text;
  return isIP(host) === 0 ? undefined : toPlainAddress(host);
}

/** Whether an address lies in one of these networks, given as addresses and CIDR ranges; an IPv4 address mapped into IPv6 counts as itself. */
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

/** Groups of an IPv6 address, 16 bits each, that name the network which one client has to itself. */
const networkGroups = 4;

/**
 * Returns the key by which a client is counted wherever something is bounded by address: an IPv4 address, also if it
 * came mapped into IPv6, or the /64 that an IPv6 client has to itself (RFC 4291, section 2.5.4). Text that is no
 * address is its own key.
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

/** Converts an address to its plain form: IPv4 also if it came mapped into IPv6. Undefined for text that is not an address. */
function toPlainAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : undefined;
}

/** Headers of a request that name the hops it came by; the values of one that was sent several times are joined by commas. */
export type ForwardedBy = Readonly<{ forwardedFor: string | undefined; forwarded: string | undefined }>;

/** Reads these headers of a request that node:http has parsed. */
export function readForwarded(headers: IncomingHttpHeaders): ForwardedBy {
  return { forwardedFor: joinValues(headers["x-forwarded-for"]), forwarded: joinValues(headers["forwarded"]) };
}

function joinValues(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(",") : value;
}

/**
 * Reads the nodes that a header names, the nearest first and no more than `most`: X-Forwarded-For, or `for` of RFC
 * 7239's Forwarded, empty if an element has none. A header that can't be read names nobody.
 */
function readNearestHops(header: "x-forwarded-for" | "forwarded", value: string, most: number): readonly string[] {
  if (header === "x-forwarded-for") return splitFromEnd(value, most);
  try {
    // An empty element, as nginx makes of a header that a request lacks, means nothing (RFC 9110, section 5.6.1).
    const elements = parse(value.replace(/^[\t ,]+/, ""));
    return elements
      .map((element) => element["for"] ?? "")
      .toReversed()
      .slice(0, most);
  } catch {
    // A client may send what no proxy would write; then the proxy's own address is all that is known.
    return [];
  }
}

/** Splits off the last elements of a list with commas, the last one first: what a client put before them is not looked at, however long it is. */
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
