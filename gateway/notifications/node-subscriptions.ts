import type { NodeResponse } from "../json-rpc/read-answer.ts";
import type { SharedSubscription } from "./notification.ts";

/** Max notifications buffered before the node's response to the subscription is read. */
const earlyNotifications = 10_000;

export type NodeSubscriptionsDependencies = Readonly<{
  link: () => Readonly<{ call: (method: string, params: string) => Promise<NodeResponse> }>;
  isWanted: (subscription: SharedSubscription) => boolean;
  notify: (subscription: SharedSubscription, result: string) => void;
}>;

/** The gateway's subscriptions to the node, keyed by the node's ids. */
export type NodeSubscriptions = Readonly<{
  /** Subscribes; the result is the node's id. Unsubscribes if by then the subscription is no longer wanted or its connection is lost. */
  begin: (subscription: SharedSubscription) => Promise<NodeResponse>;
  end: (subscription: SharedSubscription) => void;
  notified: (id: string, result: string) => void;
  /** Forgets all subscriptions after the connection is lost. */
  lost: () => void;
  size: () => number;
}>;

export function createNodeSubscriptions({ link, isWanted, notify }: NodeSubscriptionsDependencies): NodeSubscriptions {
  const byId = new Map<string, SharedSubscription>();
  /** `requesting`: number of subscriptions being requested; `early`: notifications that arrived before their responses were read. */
  const state = { losses: 0, requesting: 0, early: [] as (readonly [id: string, result: string])[] };

  const unsubscribe = (id: string) => void link().call("eth_unsubscribe", `[${id}]`);
  return {
    begin: async (subscription) => {
      const { losses } = state;
      state.requesting += 1;
      const response = await link().call("eth_subscribe", subscription.params);
      state.requesting -= 1;
      const { early } = state;
      if (state.requesting === 0) state.early = [];
      if (response.kind === "error") return response;
      if (losses !== state.losses || !isWanted(subscription)) {
        unsubscribe(response.json);
        return response;
      }
      subscription.id = response.json;
      byId.set(response.json, subscription);
      for (const [id, result] of early) if (id === response.json) notify(subscription, result);
      return response;
    },
    end: ({ id }) => {
      if (id !== undefined && byId.delete(id)) unsubscribe(id);
    },
    notified: (id, result) => {
      const subscription = byId.get(id);
      if (subscription !== undefined) notify(subscription, result);
      else if (state.requesting > 0 && state.early.length < earlyNotifications) state.early.push([id, result]);
    },
    lost: () => {
      state.losses += 1;
      state.early = [];
      for (const subscription of byId.values()) subscription.id = undefined;
      byId.clear();
    },
    size: () => byId.size,
  };
}
