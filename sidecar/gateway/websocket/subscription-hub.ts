import type { NodeAnswer } from "../envelope/read-answer.ts";

/** Who gets the notifications of a subscription. */
export type Subscriber = Readonly<{
  /** JSON text of a notification's result. */
  notify: (result: string) => void;
  /** The node's connection is lost: notifications may have been missed. */
  lost: () => void;
}>;

/** What a subscription comes to: the right to end it, or the node's error as JSON text. */
export type Subscribed =
  | Readonly<{ kind: "subscribed"; unsubscribe: () => void }>
  | Readonly<{ kind: "error"; json: string }>;

/** The hub's way to the node. */
export type HubLink = Readonly<{ call: (method: string, params: string) => Promise<NodeAnswer> }>;

/** Makes one subscription at the node serve all equal ones. */
export type SubscriptionHub = Readonly<{
  /** `params` is the JSON text of eth_subscribe's parameters in canonical form: equal texts share. */
  subscribe: (params: string, subscriber: Subscriber) => Promise<Subscribed>;
  /** A notification came from the node. */
  notified: (subscription: string, result: string) => void;
  /** The node's connection is gone. */
  lost: () => void;
  upstreamSubscriptions: () => number;
  subscribers: () => number;
}>;

type Shared = {
  readonly params: string;
  readonly subscribers: Set<Subscriber>;
  id: string | undefined;
  asked: Promise<NodeAnswer>;
};

/** Makes the hub over a link to the node. */
export function makeSubscriptionHub(link: () => HubLink): SubscriptionHub {
  const byParams = new Map<string, Shared>();
  const byId = new Map<string, Shared>();

  const begin = (params: string): Shared => {
    const shared: Shared = {
      params,
      subscribers: new Set(),
      id: undefined,
      asked: link().call("eth_subscribe", params),
    };
    byParams.set(params, shared);
    return shared;
  };
  const forget = (shared: Shared) => {
    if (byParams.get(shared.params) === shared) byParams.delete(shared.params);
    if (shared.id !== undefined) byId.delete(shared.id);
  };
  const leave = (shared: Shared, subscriber: Subscriber) => {
    if (!shared.subscribers.delete(subscriber) || shared.subscribers.size > 0) return;
    forget(shared);
    if (shared.id !== undefined) void link().call("eth_unsubscribe", `[${shared.id}]`);
  };
  return {
    subscribe: async (params, subscriber) => {
      const shared = byParams.get(params) ?? begin(params);
      shared.subscribers.add(subscriber);
      const answer = await shared.asked;
      if (answer.kind === "error") {
        shared.subscribers.delete(subscriber);
        forget(shared);
        return { kind: "error", json: answer.json };
      }
      if (shared.id === undefined && byParams.get(params) === shared) {
        shared.id = answer.json;
        byId.set(answer.json, shared);
      }
      return { kind: "subscribed", unsubscribe: () => leave(shared, subscriber) };
    },
    notified: (subscription, result) => {
      for (const subscriber of byId.get(subscription)?.subscribers ?? []) subscriber.notify(result);
    },
    lost: () => {
      const all = [...byParams.values()];
      byParams.clear();
      byId.clear();
      for (const { subscribers } of all) for (const subscriber of subscribers) subscriber.lost();
    },
    upstreamSubscriptions: () => byId.size,
    subscribers: () => [...byId.values()].reduce((sum, shared) => sum + shared.subscribers.size, 0),
  };
}
