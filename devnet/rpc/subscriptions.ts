import { randomBytes } from "node:crypto";
import type { Hex } from "viem";
import { errorCode, RpcError } from "./rpc-error.ts";
import type { LogFilter } from "./log-filter.ts";

/** Subscriptions that a client can have. */
export type Topic = Readonly<{ type: "newHeads" } | { type: "logs"; filter: LogFilter }>;

/** The subscriptions of one connection. */
export type Subscriptions = Readonly<{
  /**
   * Notes a topic; it becomes active with {@link Subscriptions.activate}.
   *
   * @throws {RpcError} when the connection has as many as it may have.
   */
  subscribe(topic: Topic): Hex;
  /** @throws {RpcError} -32000 `subscription not found`. */
  unsubscribe(id: string): true;
  /** Activates the noted topics. Called once their answer is written, which has to come before the first notification. */
  activate(): void;
  /** Lists the active topics, with their ids. */
  active(): Iterable<readonly [Hex, Topic]>;
}>;

/** Subscriptions on one connection. */
const subscriptionsMax = 1_000;

/** Creates the empty set of a new connection. */
export function createSubscriptions(): Subscriptions {
  const noted = new Map<string, Topic>();
  const active = new Map<string, Topic>();
  return {
    subscribe: (topic) => {
      if (noted.size + active.size >= subscriptionsMax) {
        throw new RpcError(errorCode.server, `too many subscriptions, at most ${subscriptionsMax} a connection`);
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
