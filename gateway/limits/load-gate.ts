import { KeyCounts } from "#daemon/key-counts.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";

/** Reason for which a call is not let to the node now. */
export type LoadRefusal = "concurrency" | "overload";

/** Counts the calls to the node in flight, in all and by caller, and sheds load before it collapses. */
export type LoadGate = Readonly<{
  /** Lets a call in, or returns the reason against it. Whoever is let in must {@link LoadGate.leave} once. */
  enter: (
    caller: string,
    tier: Tier,
    costUnits: number,
    overload: PolicySettings["overload"],
  ) => LoadRefusal | undefined;
  leave: (caller: string, costUnits: number, overload: PolicySettings["overload"]) => void;
  callsInFlight: () => number;
}>;

/** Creates a gate; `loopDelayMs` returns how late the process's event loop runs. */
export function createLoadGate({ loopDelayMs }: Readonly<{ loopDelayMs: () => number }>): LoadGate {
  const byCaller = new KeyCounts();
  let calls = 0;
  let heavyCalls = 0;
  return {
    callsInFlight: () => calls,
    enter: (caller, tier, costUnits, overload) => {
      if (byCaller.get(caller) >= tier.concurrency) return "concurrency";
      if (calls >= overload.callsInFlight) return "overload";
      if (costUnits >= overload.heavyCostUnits) {
        const loaded = calls >= overload.heavyCallsInFlight || heavyCalls >= overload.heavyParallel;
        if (loaded || loopDelayMs() > overload.loopDelayMs) return "overload";
        heavyCalls += 1;
      }
      calls += 1;
      byCaller.increase(caller);
      return undefined;
    },
    leave: (caller, costUnits, overload) => {
      calls -= 1;
      if (costUnits >= overload.heavyCostUnits) heavyCalls -= 1;
      byCaller.decrease(caller);
    },
  };
}
