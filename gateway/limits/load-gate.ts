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
  waitMs: number;
}>;

/** Admits calls to the node, or queues them. */
export type CallGate = Readonly<{
  /** Whether rejected calls wait only for calls of their own batch, without a timeout. */
  isWaitingForOwn: boolean;
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
   * Queues a rejected call. `proceed` is called once: when the call may enter, or with false after `waitMs`. Returns a function that
   * leaves the queue, or undefined if the queue is full.
   */
  wait: (request: QueueRequest, proceed: (mayEnter: boolean) => void) => (() => void) | undefined;
}>;

type QueueName = QueueRequest["reason"];

/** A waiting call, with the limits of its own policy: after a hot reload, they may differ from those of other calls. */
type QueuedCall = Readonly<{
  call: Readonly<{ caller: string }>;
  concurrency: number;
  heavyParallel: number;
  proceed: () => void;
}>;

/** Counts the in-flight calls to the node, in total and per caller, and sheds load before overload. */
export class LoadGate implements CallGate {
  readonly isWaitingForOwn = false;
  readonly #bounds: QueueBounds;
  readonly #loopDelayMs: () => number;
  readonly #byCaller = new KeyCounts();
  /** Calls that wait for their caller's other calls, and heavy calls that wait for any heavy call. */
  readonly #queues = { concurrency: new FairQueue<QueuedCall>(), heavy: new FairQueue<QueuedCall>() };
  /** The caller being served: its next call takes precedence over other calls in the same queue. */
  #served: Readonly<{ caller: string; queue: QueueName }> | undefined;
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
    const servedFrom = this.#served?.caller === caller ? this.#served.queue : undefined;
    const mustQueue = servedFrom === undefined && this.hasWaiting(caller);
    if (mustQueue || this.#byCaller.get(caller) >= tier.concurrency) return "concurrency";
    if (this.#calls >= overload.callsInFlight) return "overload";
    if (costUnits >= overload.heavyCostUnits) {
      if (this.#calls >= overload.heavyCallsInFlight || this.#loopDelayMs() > overload.loopDelayMs) return "overload";
      // A caller that keeps its concurrency used up must not keep every heavy slot that it frees.
      const mustWait = servedFrom !== "heavy" && this.#queues.heavy.size > 0;
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
    const isHeavy = costUnits >= overload.heavyCostUnits;
    if (isHeavy) this.#heavyCalls -= 1;
    this.#byCaller.decrease(caller);
    // Waiting calls are served only after the current response has been delivered.
    if (this.hasWaiting(caller)) queueMicrotask(() => this.#serve(caller));
    const { heavy } = this.#queues;
    if (heavy.size > 0 && (isHeavy || heavy.sizeOf(caller) > 0)) queueMicrotask(() => this.#serveHeavy());
  }

  wait(
    { reason, caller, tier: { concurrency }, overload: { heavyParallel }, waitMs }: QueueRequest,
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
    const queuedCall = { call: { caller }, concurrency, heavyParallel, proceed: () => end(true) };
    const timer = setTimeout(end, waitMs, false).unref();
    queue.add(queuedCall);
    // It may have to wait only because it is behind calls whose callers are at their own limits.
    if (reason === "heavy") queueMicrotask(() => this.#serveHeavy());
    return leaveQueue;
  }

  #serve(caller: string): void {
    // A call answered without the node passes its slot to the next one.
    const queue = this.#queues.concurrency;
    for (let next = queue.first(caller); next !== undefined; next = queue.first(caller)) {
      if (this.#byCaller.get(caller) >= next.concurrency) return;
      queue.delete(next);
      this.#proceed(next, "concurrency");
    }
  }

  #serveHeavy(): void {
    const queue = this.#queues.heavy;
    const mayServe = (caller: string) => {
      const first = queue.first(caller);
      if (first === undefined || this.#heavyCalls >= first.heavyParallel) return false;
      return this.#byCaller.get(caller) < first.concurrency;
    };
    for (let next = queue.next(mayServe); next !== undefined; next = queue.next(mayServe)) this.#proceed(next, "heavy");
  }

  #proceed({ call: { caller }, proceed }: QueuedCall, queue: QueueName): void {
    this.#served = { caller, queue };
    proceed();
    this.#served = undefined;
  }
}
