import { expect, it } from "vitest";
import { networkList } from "./network-list.ts";

it("knows the addresses of its networks, also IPv4 ones mapped into IPv6", () => {
  const isIn = networkList(["10.0.0.0/8", "192.0.2.7", "fc00::/7", "::1"]);
  const inside = ["10.1.2.3", "::ffff:10.1.2.3", "192.0.2.7", "::ffff:192.0.2.7", "fd00::1", "::1"];
  const outside = ["11.0.0.1", "::ffff:11.0.0.1", "192.0.2.8", "2001:db8::1", "::2", "", "nonsense"];
  for (const address of inside) expect([address, isIn(address)]).toEqual([address, true]);
  for (const address of outside) expect([address, isIn(address)]).toEqual([address, false]);
});
