import { KeyCounts } from "#daemon/key-places.ts";
import { type QueueBounds, FairQueue } from "#daemon/fair-queue.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";

/** Reason why a call is not admitted to the node now. */
export type LoadRejection = "concurrency" | "overload";

/** Admits calls to the node, or queues them. */
export type CallGate = Readonly<{
  /**
   * Admits a call, or returns the reason for its rejection, which is `concurrency` also while other calls from the caller are waiting.
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

/** Counts the in-flight calls to the node, in total and per caller, and sheds load before overload. */
export type LoadGate = CallGate &
  Readonly<{
    /** Whether calls from the caller are waiting. */
    isAwaited: (caller: string) => boolean;
    callsInFlight: () => number;
    callsWaiting: () => number;
  }>;

type QueuedCall = Readonly<{ call: Readonly<{ caller: string }>; concurrency: number; proceed: () => void }>;

/** Creates a gate. `loopDelayMs` returns the current event loop delay of the process. */
export function createLoadGate(
  bounds: QueueBounds,
  { loopDelayMs }: Readonly<{ loopDelayMs: () => number }>,
): LoadGate {
  const byCaller = new KeyCounts();
  const queue = new FairQueue<QueuedCall>();
  /** The caller being served: its next call takes precedence over its other queued calls. */
  let served: string | undefined;
  let calls = 0;
  let heavyCalls = 0;
  const isAwaited = (caller: string) => queue.size > 0 && queue.sizeOf(caller) > 0;
  const serve = (caller: string) => {
    // A call that is answered without the node passes its slot to the next.
    for (let next = queue.first(caller); next !== undefined; next = queue.first(caller)) {
      if (byCaller.get(caller) >= next.concurrency) return;
      queue.delete(next);
      served = caller;
      next.proceed();
      served = undefined;
    }
  };
  return {
    callsInFlight: () => calls,
    callsWaiting: () => queue.size,
    isAwaited,
    wait: (caller, { concurrency }, { waitMs }, proceed) => {
      if (queue.isFull(caller, bounds)) return undefined;
      const leaveQueue = () => {
        clearTimeout(timer);
        queue.delete(queued);
      };
      const end = (mayEnter: boolean) => {
        leaveQueue();
        proceed(mayEnter);
      };
      const queued = { call: { caller }, concurrency, proceed: () => end(true) };
      const timer = setTimeout(end, waitMs, false).unref();
      queue.add(queued);
      return leaveQueue;
    },
    enter: (caller, tier, costUnits, overload) => {
      if (byCaller.get(caller) >= tier.concurrency || (served !== caller && isAwaited(caller))) return "concurrency";
      if (calls >= overload.callsInFlight) return "overload";
      if (costUnits >= overload.heavyCostUnits) {
        const loaded = calls >= overload.heavyCallsInFlight || heavyCalls >= overload.heavyParallel;
        if (loaded || loopDelayMs() > overload.loopDelayMs) return "overload";
        heavyCalls += 1;
      }
      calls += 1;
      served = undefined;
      byCaller.increase(caller);
      return undefined;
    },
    leave: (caller, costUnits, overload) => {
      calls -= 1;
      if (costUnits >= overload.heavyCostUnits) heavyCalls -= 1;
      byCaller.decrease(caller);
      // Deferred, so that it does not run while the current response is being delivered.
      if (isAwaited(caller)) queueMicrotask(() => serve(caller));
    },
  };
}

/** Interval between two ticks; the delay is how late a tick runs. Ten ticks per second cost an idle process nothing measurable. */
const tickMs = 100;
/** Number of ticks retained: half a second. */
const ticksKept = 5;

/** Monitor of this process's event loop delay. */
export type LoopDelay = Disposable & Readonly<{ delayMs: () => number }>;

/** Starts the monitor; the reported delay is the worst in the last half second. */
export function watchLoopDelay({ now }: Readonly<{ now: () => number }>): LoopDelay {
  const delays = Array.from({ length: ticksKept }, () => 0);
  let tickedAt = now();
  let ticks = 0;
  const timer = setInterval(() => {
    const at = now();
    delays[ticks % ticksKept] = Math.max(0, at - tickedAt - tickMs);
    tickedAt = at;
    ticks += 1;
  }, tickMs);
  timer.unref();
  return { delayMs: () => Math.max(...delays), [Symbol.dispose]: () => clearInterval(timer) };
}
