import type { ListenerName } from "../catalogue/method.ts";
import type { Tier } from "../settings/policy.ts";

/** Who calls, and under which limits. */
export type Caller = Readonly<{
  /** What limits are counted by: an address, a network or a key's name. Never shown to others. */
  key: string;
  listener: ListenerName;
  tierName: string;
}>;

/** Who a request comes from, or why it may not call. */
export type CallerIdentity =
  | Readonly<{ kind: "caller"; caller: Caller }>
  | Readonly<{ kind: "refused"; message: string }>;

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
