import type { NodeAnswer } from "../envelope/read-answer.ts";
import { unanswered } from "../upstream/link-calls.ts";
import { makeChainMemory, readBlock, type ChainMemory } from "./chain-memory.ts";
import { readMissedNews, type AskForNews } from "./missed-news.ts";
import { isRemoved, makeSentLogs, type LogBudget } from "./sent-logs.ts";
import type { SharedSubscription, Subscriber } from "./shared-subscription.ts";

/** How gaps in the node's connection are bridged. */
export type HubOptions = Readonly<{
  /** Time in which the connection has to come back for subscribers to be told what they missed; 0: they are closed at once. */
  bridgeMs: number;
  /** Most blocks that are told after a gap. */
  bridgeBlocks: number;
}>;

/** What the hub reaches the node by, and whom it tells how a gap ended. */
export type HubDependencies = Readonly<{
  link: () => Readonly<{ call: (method: string, params: string) => Promise<NodeAnswer> }>;
  ask: AskForNews;
  gapEnded: (outcome: "bridged" | "closed") => void;
}>;

/** What a subscription comes to: the right to end it, or the node's error as JSON text. */
export type Subscribed =
  | Readonly<{ kind: "subscribed"; unsubscribe: () => void }>
  | Readonly<{ kind: "error"; json: string }>;

/** Most notifications that wait for an answer or for what came before them. */
const heldNotifications = 10_000;

/**
 * Makes one subscription at the node serve all equal ones. When the node's connection is lost and comes back in time, subscribers
 * are told what they missed; else all of them are closed.
 */
export class SubscriptionHub implements Disposable {
  readonly #options: HubOptions;
  readonly #dependencies: HubDependencies;
  readonly #byParams = new Map<string, SharedSubscription>();
  readonly #byId = new Map<string, SharedSubscription>();
  readonly #memory: ChainMemory;
  readonly #budget: LogBudget = { spentBytes: 0 };
  /** Counts losses: what was begun on one connection ends with it. */
  #losses = 0;
  #isGap = false;
  #bridging: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Subscriptions that the node is being asked for, and notifications that came before its answers were read. */
  #asking = 0;
  #early: (readonly [id: string, result: string])[] = [];

  constructor(options: HubOptions, dependencies: HubDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#memory = makeChainMemory(options.bridgeBlocks);
  }

  /** `params` is the JSON text of eth_subscribe's parameters in canonical form: equal texts share. */
  async subscribe(params: string, subscriber: Subscriber): Promise<Subscribed> {
    await this.#bridging;
    if (this.#isGap) return { kind: "error", json: unanswered.json };
    const shared = this.#byParams.get(params) ?? this.#begin(params);
    shared.subscribers.add(subscriber);
    const answer = await shared.asked;
    if (answer.kind === "error") {
      shared.subscribers.delete(subscriber);
      if (this.#byParams.get(params) === shared) this.#byParams.delete(params);
      return { kind: "error", json: answer.json };
    }
    return { kind: "subscribed", unsubscribe: () => this.#leave(shared, subscriber) };
  }

  /** A notification came from the node. */
  notified(subscription: string, result: string): void {
    const shared = this.#byId.get(subscription);
    if (shared !== undefined) this.#take(shared, result);
    else if (this.#asking > 0 && this.#early.length < heldNotifications) this.#early.push([subscription, result]);
  }

  /** The node's connection is there, for the first time or again. */
  opened(): void {
    if (!this.#isGap) return;
    const bridging = this.#bridge().finally(() => {
      if (this.#bridging === bridging) this.#bridging = undefined;
    });
    this.#bridging = bridging;
  }

  /** The node's connection is gone. */
  lost(): void {
    this.#losses += 1;
    this.#early = [];
    this.#byId.clear();
    for (const shared of this.#byParams.values()) shared.id = undefined;
    if (this.#options.bridgeMs === 0) {
      this.#closeAll();
      return;
    }
    this.#isGap = true;
    this.#timer ??= setTimeout(() => this.#closeAll(), this.#options.bridgeMs).unref();
  }

  upstreamSubscriptions(): number {
    return this.#byId.size;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #begin(params: string): SharedSubscription {
    const shared: SharedSubscription = {
      params,
      subscribers: new Set(),
      sent: params.startsWith('["logs"') ? makeSentLogs(this.#budget) : undefined,
      since: this.#memory.blocks().at(-1)?.number,
      id: undefined,
      asked: Promise.resolve(unanswered),
      held: undefined,
    };
    this.#byParams.set(params, shared);
    shared.asked = this.#askNode(shared);
    return shared;
  }

  async #askNode(shared: SharedSubscription): Promise<NodeAnswer> {
    const losses = this.#losses;
    this.#asking += 1;
    const answer = await this.#dependencies.link().call("eth_subscribe", shared.params);
    this.#asking -= 1;
    const early = this.#early;
    if (this.#asking === 0) this.#early = [];
    if (answer.kind === "error") return answer;
    if (losses !== this.#losses || this.#byParams.get(shared.params) !== shared) {
      this.#endAtNode(answer.json);
      return answer;
    }
    shared.id = answer.json;
    this.#byId.set(answer.json, shared);
    for (const [id, result] of early) if (id === answer.json) this.#take(shared, result);
    return answer;
  }

  #leave(shared: SharedSubscription, subscriber: Subscriber): void {
    if (!shared.subscribers.delete(subscriber) || shared.subscribers.size > 0) return;
    this.#forget(shared);
  }

  #forget(shared: SharedSubscription): void {
    shared.sent?.clear();
    if (this.#byParams.get(shared.params) === shared) this.#byParams.delete(shared.params);
    if (shared.id !== undefined && this.#byId.delete(shared.id)) this.#endAtNode(shared.id);
  }

  #endAtNode(id: string): void {
    void this.#dependencies.link().call("eth_unsubscribe", `[${id}]`);
  }

  #take(shared: SharedSubscription, result: string): void {
    if (shared.held === undefined) this.#deliver(shared, result);
    else if (shared.held.length < heldNotifications) shared.held.push(result);
    else this.#closeAll();
  }

  #deliver(shared: SharedSubscription, result: string): void {
    if (this.#options.bridgeMs > 0) this.#remember(shared, result);
    for (const subscriber of shared.subscribers) subscriber.notify(result);
  }

  #remember({ sent }: SharedSubscription, result: string): void {
    const block = sent === undefined ? readBlock(result) : undefined;
    if (block !== undefined) this.#memory.note(block);
    sent?.note(result);
  }

  #isTold({ sent }: SharedSubscription, result: string): boolean {
    if (sent === undefined) return this.#memory.has(readBlock(result)?.hash ?? "");
    return sent.has(result) !== isRemoved(result);
  }

  async #bridge(): Promise<void> {
    const losses = this.#losses;
    const all = [...this.#byParams.values()];
    for (const shared of all) {
      shared.held = [];
      shared.asked = this.#askNode(shared);
    }
    const answers = await Promise.all(all.map(({ asked }) => asked));
    const { ask, gapEnded } = this.#dependencies;
    const options = { memory: this.#memory, bridgeBlocks: this.#options.bridgeBlocks, ask };
    const hasFailed = answers.some(({ kind }) => kind === "error");
    const missed = hasFailed ? undefined : await readMissedNews(all, options);
    if (losses !== this.#losses) return;
    if (missed === undefined) {
      this.#closeAll();
      return;
    }
    this.#endGap();
    for (const [shared, results] of missed) {
      if (results === undefined) {
        this.#close(shared);
        continue;
      }
      for (const result of results) this.#deliver(shared, result);
      const held = shared.held ?? [];
      shared.held = undefined;
      for (const result of held) if (!this.#isTold(shared, result)) this.#deliver(shared, result);
    }
    gapEnded("bridged");
  }

  #endGap(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isGap = false;
  }

  #closeAll(): void {
    const all = [...this.#byParams.values()];
    this.#endGap();
    this.#losses += 1;
    this.#memory.clear();
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
