import { type QueueBounds, FairQueue, KeyCounts } from "#daemon/fair-shares.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";

/** Reason why a call is not admitted to the node now. */
export type LoadRejection = "concurrency" | "overload";

/** Admits calls to the node, or queues them. */
export type CallGate = Readonly<{
  /**
   * Admits a call, or returns the reason for its rejection: also `concurrency` while other calls from the caller are waiting.
   * {@link CallGate.leave} must be called once for each admitted call.
   */
  enter: (
    caller: string,
    tier: Tier,
    costUnits: number,
    overload: PolicySettings["overload"],
  ) => LoadRejection | undefined;
  leave: (caller: string, costUnits: number, overload: PolicySettings["overload"]) => void;
  /**
   * Queues a call that was rejected because of its caller's `concurrency`. `proceed` is called once: when the call may enter, or with false
   * after `overload.waitMs`. Returns a function that leaves the queue, or undefined if the queue is full.
   */
  wait: (
    caller: string,
    tier: Tier,
    overload: PolicySettings["overload"],
    proceed: (mayEnter: boolean) => void,
  ) => (() => void) | undefined;
}>;

type QueuedCall = Readonly<{ call: Readonly<{ caller: string }>; concurrency: number; proceed: () => void }>;

/** Counts the in-flight calls to the node, in total and per caller, and sheds load before overload. */
export class LoadGate implements CallGate {
  readonly #bounds: QueueBounds;
  readonly #loopDelayMs: () => number;
  readonly #byCaller = new KeyCounts();
  readonly #queue = new FairQueue<QueuedCall>();
  /** The caller being served: its next call takes precedence over its other queued calls. */
  #served: string | undefined;
  #calls = 0;
  #heavyCalls = 0;

  /** `loopDelayMs` returns the worst recent delay of the process's event loop. */
  constructor(bounds: QueueBounds, { loopDelayMs }: Readonly<{ loopDelayMs: () => number }>) {
    this.#bounds = bounds;
    this.#loopDelayMs = loopDelayMs;
  }

  get callsInFlight(): number {
    return this.#calls;
  }

  get callsWaiting(): number {
    return this.#queue.size;
  }

  /** Whether calls from the caller are waiting. */
  hasWaiting(caller: string): boolean {
    return this.#queue.size > 0 && this.#queue.sizeOf(caller) > 0;
  }

  enter(
    caller: string,
    tier: Tier,
    costUnits: number,
    overload: PolicySettings["overload"],
  ): LoadRejection | undefined {
    const mayEnter = this.#served === caller || !this.hasWaiting(caller);
    if (!mayEnter || this.#byCaller.get(caller) >= tier.concurrency) return "concurrency";
    if (this.#calls >= overload.callsInFlight) return "overload";
    if (costUnits >= overload.heavyCostUnits) {
      const isOverloaded = this.#calls >= overload.heavyCallsInFlight || this.#heavyCalls >= overload.heavyParallel;
      if (isOverloaded || this.#loopDelayMs() > overload.loopDelayMs) return "overload";
      this.#heavyCalls += 1;
    }
    this.#calls += 1;
    this.#served = undefined;
    this.#byCaller.increase(caller);
    return undefined;
  }

  leave(caller: string, costUnits: number, overload: PolicySettings["overload"]): void {
    this.#calls -= 1;
    if (costUnits >= overload.heavyCostUnits) this.#heavyCalls -= 1;
    this.#byCaller.decrease(caller);
    // Waiting calls are served only after the current response has been delivered.
    if (this.hasWaiting(caller)) queueMicrotask(() => this.#serve(caller));
  }

  wait(
    caller: string,
    { concurrency }: Tier,
    { waitMs }: PolicySettings["overload"],
    proceed: (mayEnter: boolean) => void,
  ): (() => void) | undefined {
    if (this.#queue.isFull(caller, this.#bounds)) return undefined;
    const leaveQueue = () => {
      clearTimeout(timer);
      this.#queue.delete(queuedCall);
    };
    const end = (mayEnter: boolean) => {
      leaveQueue();
      proceed(mayEnter);
    };
    const queuedCall = { call: { caller }, concurrency, proceed: () => end(true) };
    const timer = setTimeout(end, waitMs, false).unref();
    this.#queue.add(queuedCall);
    return leaveQueue;
  }

  #serve(caller: string): void {
    // A call answered without the node passes its slot to the next one.
    for (let next = this.#queue.first(caller); next !== undefined; next = this.#queue.first(caller)) {
      if (this.#byCaller.get(caller) >= next.concurrency) return;
      this.#queue.delete(next);
      this.#served = caller;
      next.proceed();
      this.#served = undefined;
    }
  }
}
