import { isIPv4 } from "node:net";
import ipaddr from "ipaddr.js";

/** Groups of an IPv6 address, 16 bits each, that name the network which one client has to itself. */
const networkGroups = 4;

/**
 * What a client is counted by, wherever something is bounded by address: an IPv4 address, also one that came mapped into IPv6, or the /64
 * that an IPv6 client has to itself (RFC 4291, section 2.5.4). What is no address is its own key.
 *
 * @example
 * addressKey("::ffff:192.0.2.7"); // "192.0.2.7"
 * addressKey("2001:db8::1"); // "2001:db8:0:0::/64"
 */
export function addressKey(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, networkGroups).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** An address in its plain form: IPv4 as it is, also when it came mapped into IPv6. Undefined for what is none. */
export function plainAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : undefined;
}
