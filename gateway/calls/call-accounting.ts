import { defineMethod, neverCached, type Method } from "../catalogue/method.ts";
import type { CallGate, LoadRejection } from "../limits/load-gate.ts";
import type { RateDecision } from "../limits/rate-limiter.ts";
import type { LimitName } from "../observe/meter.ts";
import { findTier, type Policy } from "../policy.ts";
import type { Tier } from "../settings/policy.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { GatewayContext, MessageContext } from "./call-context.ts";

const bytesOfKiB = 1_024;

/** Min length of a response that may cost more than its call. */
export const minChargedBytes = bytesOfKiB;

/** Computes the cost of bytes, in compute units: only whole KiB cost something. */
export function computeBytesCost(lengthBytes: number, unitsPerKiB: number): number {
  return Math.floor(lengthBytes / bytesOfKiB) * unitsPerKiB;
}

/** Placeholder for a method that does not exist, or that the caller may not call. */
export const unavailableMethod: Method = defineMethod("unknown", [], "an error", neverCached, 1, "No method", {
  audience: "nobody",
});

type AdmittedCall = Readonly<{ gate: CallGate | undefined; method: Method; costUnits: number; requestedAt: number }>;

/**
 * What the calls of one message cost their caller, and how they end, under the policy that was active when the message
 * arrived. All charges and counts of a call happen here.
 */
export class CallAccounting {
  readonly context: GatewayContext;
  readonly message: MessageContext;
  readonly policy: Policy;
  readonly tier: Tier;
  readonly key: string;
  readonly startedAt: number;
  /** Whether the calls' bytes are charged with their message. */
  readonly hasPaidBytes: boolean;
  /** How the calls of a batch reach the node together; undefined for a single call. */
  batch: Readonly<{ sender: NodeSender; gate: CallGate }> | undefined;
  /** Whether a call waited for a slot in vain: the message's other calls wait only for calls of their own batch. */
  hasGivenUp = false;
  /** Units that the batch's calls have paid for node time, minus those for time up to `#countedTo`. */
  #paidUnits = 0;
  #countedTo = 0;
  /** Number of plain reads that are answered but not yet counted, by method, and the time when the node was queried. */
  #answered: Map<Method, number> | undefined;
  #answeredFrom: number | undefined;

  constructor(context: GatewayContext, message: MessageContext, hasPaidBytes: boolean) {
    const policy = context.policy();
    const { caller } = message;
    this.context = context;
    this.message = message;
    this.policy = policy;
    this.tier = findTier(policy, caller);
    this.key = caller.key;
    this.startedAt = context.now();
    this.hasPaidBytes = hasPaidBytes;
  }

  /** Charges units ahead of the work, if rates are limited. */
  charge(costUnits: number): RateDecision | Promise<RateDecision> {
    if (!this.policy.settings.rateLimit.enabled) return undefined;
    return this.context.limiter.acquire(this.key, costUnits, this.tier);
  }

  /** Computes the cost of a call's bytes: the whole KiB that were not already charged for the message. */
  priceBytes(kib: number): number {
    return this.hasPaidBytes ? 0 : kib * this.policy.settings.rateLimit.unitsPerKiB;
  }

  /** Admits a call to the node, or returns the reason for its rejection. Each admitted call leaves the gate when it ends. */
  enter(gate: CallGate, method: Method, costUnits: number): LoadRejection | undefined {
    const rejection = gate.enter(this.key, this.tier, costUnits, this.policy.settings.overload);
    if (rejection === undefined && gate === this.batch?.gate) this.#payNodeTime(method, costUnits);
    return rejection;
  }

  /** Admits a plain read to the node and charges for it, or does neither. */
  enterPlain(gate: CallGate, method: Method, kib: number): boolean {
    const { rateLimit, overload } = this.policy.settings;
    const { costUnits } = method;
    if (gate.enter(this.key, this.tier, costUnits, overload) !== undefined) return false;
    const units = costUnits + this.priceBytes(kib);
    if (rateLimit.enabled && this.context.limiter.acquireNow?.(this.key, units, this.tier) !== undefined) {
      gate.leave(this.key, costUnits, overload);
      return false;
    }
    this.#payNodeTime(method, costUnits);
    return true;
  }

  leave(gate: CallGate, costUnits: number): void {
    gate.leave(this.key, costUnits, this.policy.settings.overload);
  }

  /** Ends a plain read whose response has arrived from the node; it is counted at the end of the tick. */
  answered(gate: CallGate, method: Method, requestedAt: number, responseBytes: number): void {
    const { costUnits } = method;
    this.leave(gate, costUnits);
    if (this.#answeredFrom !== requestedAt) this.#countAnswered();
    if (this.#answeredFrom === undefined) queueMicrotask(() => this.#countAnswered());
    this.#answeredFrom = requestedAt;
    this.#answered ??= new Map();
    this.#answered.set(method, (this.#answered.get(method) ?? 0) + 1);
    if (responseBytes >= minChargedBytes) this.oweResponse(responseBytes, 0);
    if (runsCode(method)) this.oweNodeTime({ gate, method, costUnits, requestedAt }, this.context.now());
  }

  /**
   * Charges the caller for the response so far, minus the free allowance per response or the KiB already charged, whichever is greater;
   * returns the KiB charged so far. The length is not known before the call, so the caller may go into debt, and can't call again until the
   * debt is paid.
   */
  oweResponse(responseBytes: number, chargedKiB: number): number {
    const { enabled, unitsPerAnswerKiB, freeAnswerKiB } = this.policy.settings.rateLimit;
    const kib = Math.floor(responseBytes / bytesOfKiB);
    const dueKiB = kib - Math.max(freeAnswerKiB, chargedKiB);
    if (enabled && dueKiB > 0 && unitsPerAnswerKiB > 0) {
      this.context.limiter.owe(this.key, dueKiB * unitsPerAnswerKiB, this.tier);
    }
    return kib;
  }

  limited(limit: LimitName): void {
    this.context.meter.limited(limit, this.message.caller.tierName);
  }

  #payNodeTime(method: Method, costUnits: number): void {
    if (runsCode(method)) this.#paidUnits += costUnits;
  }

  /**
   * Charges the node's time for a call that runs contract code, beyond what its units already paid for. Calls in a batch to the node run
   * one after the other, so each moment counts once. The time is not known in advance, so the caller may go into debt.
   */
  oweNodeTime({ gate, method, costUnits, requestedAt }: AdmittedCall, endedAt: number): void {
    const { enabled, unitsPerNodeMs } = this.policy.settings.rateLimit;
    if (!enabled || !runsCode(method)) return;
    let dueUnits = Math.floor((endedAt - requestedAt) * unitsPerNodeMs - costUnits);
    if (gate === this.batch?.gate) {
      this.#paidUnits -= Math.max(0, endedAt - Math.max(requestedAt, this.#countedTo)) * unitsPerNodeMs;
      this.#countedTo = Math.max(endedAt, this.#countedTo);
      dueUnits = Math.max(0, Math.floor(-this.#paidUnits));
      this.#paidUnits += dueUnits;
    }
    if (dueUnits > 0) this.context.limiter.owe(this.key, dueUnits, this.tier);
  }

  #countAnswered(): void {
    const requestedAt = this.#answeredFrom;
    if (requestedAt === undefined) return;
    this.#answeredFrom = undefined;
    const { meter, now } = this.context;
    const { caller, requestId, traceContext } = this.message;
    const endedAt = now();
    const seconds = (endedAt - this.startedAt) / 1_000;
    for (const [{ name: method }, count] of this.#answered ?? []) {
      meter.node(method, (endedAt - requestedAt) / 1_000, undefined, count);
      meter.call({ method, tier: caller.tierName, outcome: "node", seconds, requestId, traceContext }, count);
    }
    this.#answered?.clear();
  }

  /** Labels a method in the metrics. A name known only from the client never becomes a label; otherwise clients could create series. */
  label(method: Method): string {
    return method === unavailableMethod || this.policy.catalogue.has(method.name) ? method.name : "unlisted";
  }
}

/** Whether a method runs contract code, so that only the node's time reveals how much work a call is. */
export function runsCode({ limit }: Readonly<{ limit?: Method["limit"] | undefined }>): boolean {
  return limit?.kind === "gas" || limit?.kind === "tracer" || limit?.kind === "lastTracer";
}
