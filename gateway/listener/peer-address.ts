import { addressKey } from "#daemon/http/proxies/address-key.ts";
import type { ClientAddress } from "#daemon/http/proxies/client-address.ts";
import type { PeerFacts } from "../callers/request-facts.ts";

/** What a client's memory is counted by: its address as trusted proxies tell it, an IPv6 client's by its /64. */
export function peerAddress(client: ClientAddress): (peer: PeerFacts) => string {
  return (peer) => addressKey(client.of(peer.remoteAddress, client.told(peer)));
}
