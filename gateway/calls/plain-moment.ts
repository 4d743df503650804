import { fallbackTier, findMethod, type Caller } from "../callers/caller.ts";
import type { Method } from "../catalogue/method.ts";
import type { ChainHead } from "../chain/head.ts";
import type { Policy } from "../policy.ts";
import type { Tier } from "../settings/policy.ts";
import { isBatchable } from "./answer-call.ts";

/** Snapshot of the policy, head and clock, shared by plain reads that start in the same event loop tick: none of these changes within a tick. */
export class PlainMoment {
  readonly policy: Policy;
  readonly tier: Tier;
  readonly head: ChainHead | undefined;
  readonly generation: number;
  readonly epoch: number;
  readonly startedAt: number;
  readonly #caller: Caller;
  /** Plain-read methods that have been looked up so far, by name. */
  readonly #methods = new Map<string, Method | undefined>();

  constructor(
    policy: Policy,
    caller: Caller,
    {
      head,
      generation,
      epoch,
      startedAt,
    }: Readonly<{ head: ChainHead | undefined; generation: number; epoch: number; startedAt: number }>,
  ) {
    this.policy = policy;
    this.tier = policy.tiers.get(caller.tierName) ?? fallbackTier;
    this.head = head;
    this.generation = generation;
    this.epoch = epoch;
    this.startedAt = startedAt;
    this.#caller = caller;
  }

  /** Returns the method with this name if calls to it may be plain reads. */
  find(name: string): Method | undefined {
    const known = this.#methods.get(name);
    if (known !== undefined || this.#methods.has(name)) return known;
    const method = findMethod(this.policy, this.tier, name, this.#caller);
    const found = method !== undefined && this.#isPlain(method) ? method : undefined;
    this.#methods.set(name, found);
    return found;
  }

  /** Whether a method is in the catalogue and calls to it, except those that specify gas, go to the node unchanged and can be batched and cached. */
  #isPlain(method: Method): boolean {
    const { settings, catalogue } = this.policy;
    const isOfNode = method.answeredBy === "node" && method.constant === undefined && method.webSocketOnly !== true;
    const isUnchecked = (method.limit?.kind ?? "gas") === "gas" && method.cache.kind !== "none";
    return isOfNode && isUnchecked && isBatchable(method, settings.overload) && catalogue.has(method.name);
  }
}
