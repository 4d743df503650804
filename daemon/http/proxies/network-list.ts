import { BlockList, isIPv6 } from "node:net";

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
