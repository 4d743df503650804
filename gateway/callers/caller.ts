import type { ListenerName, Audience, Method } from "../catalogue/method.ts";
import type { Tier } from "../settings/policy.ts";
import { buildAddedMethod } from "../catalogue/catalogue.ts";
import type { Policy } from "../policy.ts";

/** Caller of a request, and its limits. */
export type Caller = Readonly<{
  /** Key under which limits are counted: an address, a network or the name of an API key. Never shown to other callers. */
  key: string;
  listener: ListenerName;
  tierName: string;
}>;

/** Caller of a request, or the rejection if the caller is not allowed. */
export type CallerIdentity = Readonly<{ kind: "caller"; caller: Caller }> | RejectedIdentity;

/** Rejection of a request's caller. `retryAfterSeconds` means that the caller may retry, because its credentials were not found to be invalid. */
export type RejectedIdentity = Readonly<{ kind: "refused"; message: string; retryAfterSeconds?: number }>;

/** Limits of a caller whose tier no longer exists: the strictest limits that still let the caller see the reason. */
export const fallbackTier: Tier = {
  requestsPerSecond: 1,
  requestBurst: 1,
  computeUnitsPerSecond: 10,
  computeUnitBurst: 10,
  concurrency: 1,
  webSockets: 0,
  subscriptions: 0,
};

const unlistedMethod = /^[a-zA-Z][\w.]{0,63}$/;
/** Methods that make the node trace: their limits and costs come only from the catalogue. */
const tracingMethod = /^(?:debug_trace|trace_)/;
const width = { public: 0, private: 1, internal: 2, nobody: 3 } as const satisfies Record<Audience, number>;

/** Returns the method with this name if the caller may call it, otherwise undefined. */
export function findMethod(policy: Policy, tier: Tier, name: string, { listener }: Caller): Method | undefined {
  const method = policy.catalogue.get(name);
  if (method === undefined) {
    const forward = listener !== "public" && policy.settings.unknownMethods[listener] === "forward";
    if (!forward || !unlistedMethod.test(name) || tracingMethod.test(name)) return undefined;
    return buildAddedMethod(name);
  }
  if (width[method.audience] > width[listener]) return undefined;
  return tier.methods === undefined || tier.methods.includes(name) ? method : undefined;
}
