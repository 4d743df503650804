import type { RequestFacts } from "../listener/request-facts.ts";
import type { CallerIdentity, ListenerName } from "./caller.ts";
import type { ClientAddress } from "./client-address.ts";

/** Finds out who a request comes from. */
export type Identify = (facts: RequestFacts) => CallerIdentity | Promise<CallerIdentity>;

/** Identifies callers by their address alone and gives all of them one tier. */
export function identifyByAddress(listener: ListenerName, tierName: string, address: ClientAddress): Identify {
  const known = new Map<string, CallerIdentity>();
  /** Identities that are kept to be handed out again; they are made anew beyond that. */
  const keptIdentities = 10_000;
  return ({ remoteAddress, forwardedFor }) => {
    const client = address(remoteAddress, forwardedFor);
    const before = known.get(client);
    if (before !== undefined) return before;
    const identity: CallerIdentity = { kind: "caller", caller: { key: `${listener} ${client}`, listener, tierName } };
    if (known.size >= keptIdentities) known.clear();
    known.set(client, identity);
    return identity;
  };
}
