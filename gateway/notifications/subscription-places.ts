import { rpcErrors, tooManyUpstreamSubscriptionsOfCaller, type RpcError } from "../errors.ts";

/** Bounds of the subscriptions that the node has for the gateway. */
export type SubscriptionPlacesOptions = Readonly<{
  upstreamSubscriptions: number;
  /** Most of those that one caller may have begun. */
  upstreamSubscriptionsPerCaller: number;
}>;

/** Places for subscriptions at the node, in all and by the caller who began them. */
export type SubscriptionPlaces = Readonly<{
  /** Takes a place, or returns the error that refuses it. */
  acquire: (caller: string) => RpcError | undefined;
  /** Releases a place. */
  release: (caller: string) => void;
}>;

export function createSubscriptionPlaces({
  upstreamSubscriptions,
  upstreamSubscriptionsPerCaller,
}: SubscriptionPlacesOptions): SubscriptionPlaces {
  const byCaller = new Map<string, number>();
  let all = 0;
  return {
    acquire: (caller) => {
      const own = byCaller.get(caller) ?? 0;
      if (own >= upstreamSubscriptionsPerCaller) {
        return tooManyUpstreamSubscriptionsOfCaller(upstreamSubscriptionsPerCaller);
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
