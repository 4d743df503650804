import { rpcErrors, callerUpstreamSubscriptionLimit, type RpcError } from "../errors.ts";

/** Limits on the gateway's subscriptions to the node. */
export type SubscriptionSlotsOptions = Readonly<{
  upstreamSubscriptions: number;
  /** Max number of these subscriptions that one caller may have started. */
  upstreamSubscriptionsPerCaller: number;
}>;

/** Slots for subscriptions to the node, in total and per caller that started them. */
export type SubscriptionSlots = Readonly<{
  /** Takes a slot, or returns the error that rejects the subscription. */
  acquire: (caller: string) => RpcError | undefined;
  /** Releases a slot. */
  release: (caller: string) => void;
}>;

export function createSubscriptionSlots({
  upstreamSubscriptions,
  upstreamSubscriptionsPerCaller,
}: SubscriptionSlotsOptions): SubscriptionSlots {
  const byCaller = new Map<string, number>();
  let all = 0;
  return {
    acquire: (caller) => {
      const own = byCaller.get(caller) ?? 0;
      if (own >= upstreamSubscriptionsPerCaller) {
        return callerUpstreamSubscriptionLimit(upstreamSubscriptionsPerCaller);
      }
      if (all >= upstreamSubscriptions) return rpcErrors.tooManyUpstreamSubscriptions;
      byCaller.set(caller, own + 1);
      all += 1;
      return undefined;
    },
    release: (caller) => {
      const left = (byCaller.get(caller) ?? 1) - 1;
      if (left === 0) byCaller.delete(caller);
      else byCaller.set(caller, left);
      all -= 1;
    },
  };
}
