import { type QueueBounds, FairQueue, KeyCounts } from "#daemon/fair-shares.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";

/** Reason why a call is not admitted to the node now. Calls may wait except at `overload`. */
export type LoadRejection = "concurrency" | "heavy" | "overload";

/** A call to queue: what it waits for, and its caller. */
export type QueueRequest = Readonly<{
  reason: Exclude<LoadRejection, "overload">;
  caller: string;
  tier: Tier;
  overload: PolicySettings["overload"];
}>;

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
   * Queues a rejected call. `proceed` is called once: when the call may enter, or with false after `overload.waitMs`. Returns a function
   * that leaves the queue, or undefined if the queue is full.
   */
  wait: (request: QueueRequest, proceed: (mayEnter: boolean) => void) => (() => void) | undefined;
}>;

type QueuedCall = Readonly<{ call: Readonly<{ caller: string }>; concurrency: number; proceed: () => void }>;

/** Counts the in-flight calls to the node, in total and per caller, and sheds load before overload. */
export class LoadGate implements CallGate {
  readonly #bounds: QueueBounds;
  readonly #loopDelayMs: () => number;
  readonly #byCaller = new KeyCounts();
  /** Calls that wait for their caller's other calls, and heavy calls that wait for any heavy call. */
  readonly #queues = { concurrency: new FairQueue<QueuedCall>(), heavy: new FairQueue<QueuedCall>() };
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
    return this.#queues.concurrency.size + this.#queues.heavy.size;
  }

  /** Whether calls from the caller are waiting for its other calls. */
  hasWaiting(caller: string): boolean {
    const { concurrency } = this.#queues;
    return concurrency.size > 0 && concurrency.sizeOf(caller) > 0;
  }

  enter(
    caller: string,
    tier: Tier,
    costUnits: number,
    overload: PolicySettings["overload"],
  ): LoadRejection | undefined {
    const isServed = this.#served === caller;
    if ((!isServed && this.hasWaiting(caller)) || this.#byCaller.get(caller) >= tier.concurrency) return "concurrency";
    if (this.#calls >= overload.callsInFlight) return "overload";
    if (costUnits >= overload.heavyCostUnits) {
      if (this.#calls >= overload.heavyCallsInFlight || this.#loopDelayMs() > overload.loopDelayMs) return "overload";
      const mustWait = !isServed && this.#queues.heavy.size > 0;
      if (mustWait || this.#heavyCalls >= overload.heavyParallel) return "heavy";
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
    if (this.#queues.heavy.size > 0) queueMicrotask(() => this.#serveHeavy(overload));
  }

  wait(
    { reason, caller, tier: { concurrency }, overload }: QueueRequest,
    proceed: (mayEnter: boolean) => void,
  ): (() => void) | undefined {
    const queue = this.#queues[reason];
    if (queue.isFull(caller, this.#bounds)) return undefined;
    const leaveQueue = () => {
      clearTimeout(timer);
      queue.delete(queuedCall);
    };
    const end = (mayEnter: boolean) => {
      leaveQueue();
      proceed(mayEnter);
    };
    const queuedCall = { call: { caller }, concurrency, proceed: () => end(true) };
    const timer = setTimeout(end, overload.waitMs, false).unref();
    queue.add(queuedCall);
    // It may have to wait only because it is behind calls whose callers are at their own limits.
    if (reason === "heavy") queueMicrotask(() => this.#serveHeavy(overload));
    return leaveQueue;
  }

  #serve(caller: string): void {
    // A call answered without the node passes its slot to the next one.
    const queue = this.#queues.concurrency;
    for (let next = queue.first(caller); next !== undefined; next = queue.first(caller)) {
      if (this.#byCaller.get(caller) >= next.concurrency) return;
      queue.delete(next);
      this.#proceed(next);
    }
  }

  #serveHeavy({ heavyParallel }: PolicySettings["overload"]): void {
    const queue = this.#queues.heavy;
    const mayServe = (caller: string) => this.#byCaller.get(caller) < (queue.first(caller)?.concurrency ?? 0);
    while (this.#heavyCalls < heavyParallel) {
      const next = queue.next(mayServe);
      if (next === undefined) return;
      this.#proceed(next);
    }
  }

  #proceed({ call, proceed }: QueuedCall): void {
    this.#served = call.caller;
    proceed();
    this.#served = undefined;
  }
}
