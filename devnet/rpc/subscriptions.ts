import { randomBytes } from "node:crypto";
import type { Hex } from "viem";
import { errorCode, RpcError } from "./rpc-error.ts";
import type { LogFilter } from "./log-filter.ts";

/** Topics that a client can subscribe to. */
export type Topic = Readonly<{ type: "newHeads" } | { type: "logs"; filter: LogFilter }>;

/** The subscriptions of one connection. */
export type Subscriptions = Readonly<{
  /**
   * Registers a topic; {@link Subscriptions.activate} activates it.
   *
   * @throws {RpcError} when the connection has reached its limit.
   */
  subscribe(topic: Topic): Hex;
  /** @throws {RpcError} -32000 `subscription not found`. */
  unsubscribe(id: string): true;
  /** Activates the registered topics. Called once the response with their ids is written, because that response must precede the first notification. */
  activate(): void;
  /** Lists the active topics, with their ids. */
  active(): Iterable<readonly [Hex, Topic]>;
}>;

/** Max subscriptions per connection. */
const subscriptionsMax = 1_000;

/** Creates the empty subscription set of a new connection. */
export function createSubscriptions(): Subscriptions {
  const noted = new Map<string, Topic>();
  const active = new Map<string, Topic>();
  return {
    subscribe: (topic) => {
      if (noted.size + active.size >= subscriptionsMax) {
        throw new RpcError(errorCode.server, `too many subscriptions, at most ${subscriptionsMax} per connection`);
      }
      const id: Hex = `0x${randomBytes(16).toString("hex")}`;
      noted.set(id, topic);
      return id;
    },
    unsubscribe: (id) => {
      if (!active.delete(id) && !noted.delete(id)) throw new RpcError(errorCode.server, "subscription not found");
      return true;
    },
    activate: () => {
      for (const [id, topic] of noted) active.set(id, topic);
      noted.clear();
    },
    active: () => active.entries() as Iterable<readonly [Hex, Topic]>,
  };
}
