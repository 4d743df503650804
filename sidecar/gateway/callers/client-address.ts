import { isIP } from "node:net";
import { networkList } from "./network-list.ts";

/** Finds out which address a request really comes from. */
export type ClientAddress = (remoteAddress: string, forwardedFor: string | undefined) => string;

/**
 * Reads the client's address: the connection's own, unless that is a trusted proxy; then the last address in X-Forwarded-For
 * that is none. Addresses further left are the client's own words and are never believed.
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  if (trustedProxies.length === 0) return (remoteAddress) => network(remoteAddress);
  const isTrusted = networkList(trustedProxies);
  return (remoteAddress, forwardedFor) => {
    let client = plain(remoteAddress);
    const hops = forwardedFor?.split(",").map((hop) => plain(hop.trim())) ?? [];
    while (isTrusted(client)) {
      const hop = hops.pop();
      if (hop === undefined || isIP(hop) === 0) break;
      client = hop;
    }
    return network(client);
  };
}

/** An IPv4 address as it is, also when it came mapped into IPv6. */
function plain(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/** What limits count by: an IPv4 address, or the /64 that an IPv6 client has to itself (RFC 4291, section 2.5.4). */
function network(address: string): string {
  const own = plain(address);
  if (!own.includes(":")) return own;
  const [head = "", tail = ""] = own.split("%", 1)[0]?.split("::") ?? [];
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const groups = own.includes("::")
    ? [...left, ...Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0"), ...right]
    : left;
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
