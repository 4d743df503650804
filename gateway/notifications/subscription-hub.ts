import { callerUpstreamSubscriptionLimit, rpcErrors, type RpcError } from "../errors.ts";
import type { NodeResponse } from "../json-rpc/read-answer.ts";
import { unavailableError } from "../upstream/node-link.ts";
import type { NodeRequest } from "../upstream/request-node.ts";
import { readBackfill } from "./backfill.ts";
import { serializeNotification, type SharedSubscription, type Subscriber, SentNotifications } from "./notification.ts";
import { createNodeSubscriptions, type NodeSubscriptions } from "./node-subscriptions.ts";

/** Max subscriptions to the node, in total and per caller, and the gaps that are bridged. */
export type HubOptions = Readonly<{
  upstreamSubscriptions: number;
  upstreamSubscriptionsPerCaller: number;
  /** Max length of an outage, in ms, after which subscribers are still sent what they missed; 0 closes them immediately. */
  bridgeMs: number;
  bridgeBlocks: number;
}>;

export type HubDependencies = Readonly<{
  link: () => Readonly<{ call: (method: string, params: string) => Promise<NodeResponse> }>;
  requestNode: NodeRequest;
  gapEnded: (outcome: "bridged" | "closed") => void;
}>;

/** Outcome of a subscription request: the function that ends the subscription, the node's error as JSON text, or the reason that the node is not queried. */
export type SubscribeOutcome =
  | Readonly<{ kind: "subscribed"; unsubscribe: () => void }>
  | Readonly<{ kind: "error"; json: string }>
  | Readonly<{ kind: "rejected"; error: RpcError }>;

/** Max notifications of a subscription that are queued behind earlier ones. */
const queuedNotificationsMax = 10_000;

/** Shares one subscription to the node among identical ones. After a gap, subscribers are sent what they missed, or are closed. */
export class SubscriptionHub implements Disposable {
  readonly #options: HubOptions;
  readonly #dependencies: HubDependencies;
  readonly #byParams = new Map<string, SharedSubscription>();
  readonly #atNode: NodeSubscriptions;
  readonly #sent: SentNotifications;
  /** Number of connection losses: anything started on a connection ends with it. */
  #losses = 0;
  #isGap = false;
  #bridging: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HubOptions, dependencies: HubDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#sent = new SentNotifications(options.bridgeBlocks);
    this.#atNode = createNodeSubscriptions({
      link: dependencies.link,
      isWanted: (subscription) => this.#byParams.get(subscription.params) === subscription,
      notify: (subscription, result) => this.#notify(subscription, result),
    });
  }

  /** Adds a subscriber. `params` is the JSON text of `eth_subscribe` parameters in canonical form; identical texts share a subscription. */
  async subscribe(params: string, subscriber: Subscriber): Promise<SubscribeOutcome> {
    await this.#bridging;
    if (this.#isGap) return { kind: "error", json: unavailableError.json };
    const subscription = this.#byParams.get(params) ?? this.#begin(params, subscriber.caller);
    if ("code" in subscription) return { kind: "rejected", error: subscription };
    subscription.subscribers.add(subscriber);
    const reply = await subscription.reply;
    if (reply.kind === "error") {
      subscription.subscribers.delete(subscriber);
      this.#remove(subscription);
      return { kind: "error", json: reply.json };
    }
    return { kind: "subscribed", unsubscribe: () => this.#leave(subscription, subscriber) };
  }

  notified(subscription: string, result: string): void {
    this.#atNode.notified(subscription, result);
  }

  opened(): void {
    if (!this.#isGap) return;
    const backfilling = this.#bridge().finally(() => {
      if (this.#bridging === backfilling) this.#bridging = undefined;
    });
    this.#bridging = backfilling;
  }

  lost(): void {
    this.#losses += 1;
    this.#atNode.lost();
    if (this.#options.bridgeMs === 0) {
      this.closeAll();
      return;
    }
    this.#isGap = true;
    this.#timer ??= setTimeout(() => this.closeAll(), this.#options.bridgeMs).unref();
  }

  upstreamSubscriptions(): number {
    return this.#atNode.size();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  /** Starts a subscription to the node, or returns the error that rejects it. */
  #begin(params: string, caller: string | undefined): SharedSubscription | RpcError {
    const rejection = caller === undefined ? undefined : this.#findLimit(caller);
    if (rejection !== undefined) return rejection;
    const subscription: SharedSubscription = {
      params,
      beganBy: caller,
      subscribers: new Set(),
      sent: params.startsWith('["logs"') ? this.#sent.logs() : undefined,
      since: this.#sent.blocks.blocks.at(-1)?.number,
      id: undefined,
      reply: Promise.resolve(unavailableError),
      held: undefined,
    };
    this.#byParams.set(params, subscription);
    subscription.reply = this.#atNode.begin(subscription);
    return subscription;
  }

  /** Returns the limit that a caller's next subscription would exceed. The gateway's own subscription does not count. */
  #findLimit(caller: string): RpcError | undefined {
    const { upstreamSubscriptions, upstreamSubscriptionsPerCaller } = this.#options;
    const countedSubscriptions = [...this.#byParams.values()].filter(({ beganBy }) => beganBy !== undefined);
    const own = countedSubscriptions.filter(({ beganBy }) => beganBy === caller);
    if (own.length >= upstreamSubscriptionsPerCaller)
      return callerUpstreamSubscriptionLimit(upstreamSubscriptionsPerCaller);
    return countedSubscriptions.length >= upstreamSubscriptions ? rpcErrors.tooManyUpstreamSubscriptions : undefined;
  }

  #leave(subscription: SharedSubscription, subscriber: Subscriber): void {
    if (!subscription.subscribers.delete(subscriber) || subscription.subscribers.size > 0) return;
    this.#forget(subscription);
  }

  #forget(subscription: SharedSubscription): void {
    subscription.sent?.clear();
    this.#remove(subscription);
    this.#atNode.end(subscription);
  }

  #remove(subscription: SharedSubscription): void {
    if (this.#byParams.get(subscription.params) !== subscription) return;
    this.#byParams.delete(subscription.params);
  }

  #notify(subscription: SharedSubscription, result: string): void {
    if (subscription.held === undefined) this.#deliver(subscription, result);
    else if (subscription.held.length < queuedNotificationsMax) subscription.held.push(result);
    else this.closeAll();
  }

  #deliver(shared: SharedSubscription, result: string): void {
    if (this.#options.bridgeMs > 0) this.#sent.note(shared, result);
    const notification = serializeNotification(result);
    for (const subscriber of shared.subscribers) subscriber.notify(notification);
  }

  async #bridge(): Promise<void> {
    const losses = this.#losses;
    const all = [...this.#byParams.values()];
    for (const shared of all) {
      shared.held = [];
      shared.reply = this.#atNode.begin(shared);
    }
    const replies = await Promise.all(all.map(({ reply }) => reply));
    const { requestNode, gapEnded } = this.#dependencies;
    const options = { memory: this.#sent.blocks, bridgeBlocks: this.#options.bridgeBlocks, requestNode };
    const hasFailed = replies.some(({ kind }) => kind === "error");
    const missedLogs = hasFailed ? undefined : await readBackfill(all, options);
    if (losses !== this.#losses) return;
    if (missedLogs === undefined) {
      this.closeAll();
      return;
    }
    this.#endGap();
    for (const [shared, results] of missedLogs) {
      if (results === undefined) {
        this.#close(shared);
        continue;
      }
      for (const result of results) this.#deliver(shared, result);
      const held = shared.held ?? [];
      shared.held = undefined;
      for (const result of held) if (!this.#sent.has(shared, result)) this.#deliver(shared, result);
    }
    gapEnded("bridged");
  }

  #endGap(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isGap = false;
  }

  /** Closes every subscription, because the node's notifications, missed or future, can't be trusted. */
  closeAll(): void {
    const all = [...this.#byParams.values()];
    this.#endGap();
    this.#losses += 1;
    this.#sent.blocks.clear();
    this.#dependencies.gapEnded("closed");
    for (const shared of all) this.#close(shared);
  }

  #close(shared: SharedSubscription): void {
    this.#forget(shared);
    const subscribers = [...shared.subscribers];
    shared.subscribers.clear();
    for (const subscriber of subscribers) subscriber.lost();
  }
}
