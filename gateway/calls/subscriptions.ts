import type { RpcError } from "../errors.ts";

/** Outcome of a subscribing call, as JSON text or as an error. */
export type SubscriptionAnswer =
  | Readonly<{ kind: "result"; json: string }>
  | Readonly<{ kind: "error"; error: RpcError }>
  | Readonly<{ kind: "nodeError"; json: string }>;

/** The subscriptions of one WebSocket client. */
export type Subscriptions = Readonly<{
  /** Answers eth_subscribe and eth_unsubscribe; `params` is the JSON text of an array. */
  answer: (method: string, params: string) => Promise<SubscriptionAnswer>;
}>;
