import type { ListenerName, Audience, Method } from "../catalogue/method.ts";
import type { Tier } from "../settings/policy.ts";
import { buildAddedMethod } from "../catalogue/added-method.ts";
import type { Policy } from "../policy.ts";

/** Caller of a request, and the limits that it has. */
export type Caller = Readonly<{
  /** Key by which limits are counted: an address, a network or a key's name. Never shown to other callers. */
  key: string;
  listener: ListenerName;
  tierName: string;
}>;

/** Caller of a request, or the refusal of one that may not call. */
export type CallerIdentity = Readonly<{ kind: "caller"; caller: Caller }> | RefusedIdentity;

/** Refusal of a request's caller; with `retryAfterSeconds` it may come again, because nothing is known against it. */
export type RefusedIdentity = Readonly<{ kind: "refused"; message: string; retryAfterSeconds?: number }>;

/** Limits of a caller whose tier no longer exists: the narrowest that still lets it see why. */
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
/** Methods that make the node trace: only the catalogue knows what limits and costs they need. */
const tracingMethod = /^(?:debug_trace|trace_)/;
const width = { public: 0, private: 1, internal: 2, nobody: 3 } as const satisfies Record<Audience, number>;

/** Finds the method that a caller may call by this name; undefined if there is none for it. */
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
