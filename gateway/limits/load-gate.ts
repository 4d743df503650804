import { KeyCounts } from "#daemon/key-counts.ts";
import { type QueueBounds, WaitingTurns } from "#daemon/waiting-turns.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";

/** Reason for which a call is not let to the node now. */
export type LoadRefusal = "concurrency" | "overload";

/** Lets calls to the node, or has them wait. */
export type CallGate = Readonly<{
  /**
   * Lets a call in, or returns the reason against it; `concurrency` also while other calls of the caller wait. Whoever is let in must
   * {@link CallGate.leave} once.
   */
  enter: (
    caller: string,
    tier: Tier,
    costUnits: number,
    overload: PolicySettings["overload"],
  ) => LoadRefusal | undefined;
  leave: (caller: string, costUnits: number, overload: PolicySettings["overload"]) => void;
  /**
   * Queues a call that was refused for its caller's `concurrency`: `proceed` is called once, when it may enter, or with false after
   * `overload.waitMs`. Returns how to leave the queue; undefined if it is full.
   */
  wait: (
    caller: string,
    tier: Tier,
    overload: PolicySettings["overload"],
    proceed: (mayEnter: boolean) => void,
  ) => (() => void) | undefined;
}>;

/** Counts the calls to the node in flight, in all and by caller, and sheds load before it collapses. */
export type LoadGate = CallGate &
  Readonly<{
    /** Whether calls of the caller wait. */
    isAwaited: (caller: string) => boolean;
    callsInFlight: () => number;
    callsWaiting: () => number;
  }>;

type QueuedCall = Readonly<{ call: Readonly<{ caller: string }>; concurrency: number; proceed: () => void }>;

/** Creates a gate; `loopDelayMs` returns how late the process's event loop runs. */
export function createLoadGate(
  bounds: QueueBounds,
  { loopDelayMs }: Readonly<{ loopDelayMs: () => number }>,
): LoadGate {
  const byCaller = new KeyCounts();
  const queue = new WaitingTurns<QueuedCall>();
  /** Caller whose turn it is: its next call goes before those that wait. */
  let served: string | undefined;
  let calls = 0;
  let heavyCalls = 0;
  const isAwaited = (caller: string) => queue.size > 0 && queue.sizeOf(caller) > 0;
  const serve = (caller: string) => {
    // A call that is answered without the node leaves its place to the next.
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
      // Not within the answer that is being delivered.
      if (isAwaited(caller)) queueMicrotask(() => serve(caller));
    },
  };
}
