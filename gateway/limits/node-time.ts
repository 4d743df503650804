import type { Method } from "../catalogue/method.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";
import type { RateLimiter } from "./rate-limiter.ts";

/** Whether a method runs contract code: only the time that the node takes reveals how much work a call is. */
export function runsCode({ limit }: Readonly<{ limit?: Method["limit"] }>): boolean {
  return limit?.kind === "gas" || limit?.kind === "tracer" || limit?.kind === "lastTracer";
}

/** A caller's call at the node, in milliseconds of one clock. */
type TimedCall = Readonly<{ caller: string; tier: Tier; startedAt: number; endedAt: number }>;

/**
 * The node's time for calls of one message that run contract code. Calls that go to the node in batches run one after the other, so each
 * moment counts once. The units that the calls cost in advance buy the first of it.
 */
export class NodeTime {
  #paidUnits = 0;
  #countedTo = 0;

  /** Adds the units that a call cost before it went to the node. */
  pay(costUnits: number): void {
    this.#paidUnits += costUnits;
  }

  /** Charges a caller for the time of a call that has ended. The time was not known before the call, so the caller may go into debt. */
  charge(
    { caller, tier, startedAt, endedAt }: TimedCall,
    { enabled, unitsPerNodeMs }: PolicySettings["rateLimit"],
    limiter: Pick<RateLimiter, "owe">,
  ): void {
    if (!enabled) return;
    this.#paidUnits -= Math.max(0, endedAt - Math.max(startedAt, this.#countedTo)) * unitsPerNodeMs;
    this.#countedTo = Math.max(endedAt, this.#countedTo);
    const dueUnits = Math.floor(-this.#paidUnits);
    if (dueUnits <= 0) return;
    this.#paidUnits += dueUnits;
    limiter.owe(caller, dueUnits, tier);
  }
}
