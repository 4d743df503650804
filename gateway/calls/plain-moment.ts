import { fallbackTier, findMethod, type Caller } from "../callers/caller.ts";
import type { Method } from "../catalogue/method.ts";
import type { ChainHead } from "../chain/head.ts";
import type { Policy } from "../policy.ts";
import type { Tier } from "../settings/policy.ts";
import { isBatchable } from "./read-call.ts";

/** Snapshot of policy, head and clock that plain reads started in the same event loop tick share: none of them changes within a tick. */
export class PlainMoment {
  readonly policy: Policy;
  readonly tier: Tier;
  readonly head: ChainHead | undefined;
  readonly generation: number;
  readonly epoch: number;
  readonly startedAt: number;
  readonly #caller: Caller;
  /** Methods of plain reads by name, as looked up so far. */
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

  /** Finds the method with this name, if its calls may be plain reads. */
  find(name: string): Method | undefined {
    const known = this.#methods.get(name);
    if (known !== undefined || this.#methods.has(name)) return known;
    const method = findMethod(this.policy, this.tier, name, this.#caller);
    const found = method !== undefined && this.#isPlain(method) ? method : undefined;
    this.#methods.set(name, found);
    return found;
  }

  /** Whether a method is in the catalogue, and its calls, except those that specify gas, go to the node unchanged, can be batched and can be cached. */
  #isPlain(method: Method): boolean {
    const { settings, catalogue } = this.policy;
    const isOfNode = method.answeredBy === "node" && method.constant === undefined && method.webSocketOnly !== true;
    const isUnchecked = (method.limit?.kind ?? "gas") === "gas" && method.cache.kind !== "none";
    return isOfNode && isUnchecked && isBatchable(method, settings.overload) && catalogue.has(method.name);
  }
}
