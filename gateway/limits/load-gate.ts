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

/** Calls in flight of one caller. */
type Own = { calls: number };

/**
 * Most callers without a call in flight that are remembered; beyond that all of them are forgotten together. To forget each with its
 * last call would change the map with every call, at the price that `reads/reads-in-flight.ts` describes.
 */
const restingCallers = 10_000;

/** Creates a gate; `loopDelayMs` returns how late the process's event loop runs. */
export function createLoadGate({ loopDelayMs }: Readonly<{ loopDelayMs: () => number }>): LoadGate {
  let byCaller = new Map<string, Own>();
  let resting = 0;
  let calls = 0;
  let heavyCalls = 0;
  return {
    callsInFlight: () => calls,
    enter: (caller, tier, costUnits, overload) => {
      const known = byCaller.get(caller);
      const own = known ?? { calls: 0 };
      if (own.calls >= tier.concurrency) return "concurrency";
      if (calls >= overload.callsInFlight) return "overload";
      if (costUnits >= overload.heavyCostUnits) {
        const loaded = calls >= overload.heavyCallsInFlight || heavyCalls >= overload.heavyParallel;
        if (loaded || loopDelayMs() > overload.loopDelayMs) return "overload";
        heavyCalls += 1;
      }
      calls += 1;
      own.calls += 1;
      if (known === undefined) byCaller.set(caller, own);
      else if (own.calls === 1) resting -= 1;
      return undefined;
    },
    leave: (caller, costUnits, overload) => {
      calls -= 1;
      if (costUnits >= overload.heavyCostUnits) heavyCalls -= 1;
      const own = byCaller.get(caller);
      if (own === undefined) return;
      own.calls -= 1;
      if (own.calls > 0) return;
      resting += 1;
      if (resting <= restingCallers) return;
      byCaller = new Map([...byCaller].filter(([, { calls: underWay }]) => underWay > 0));
      resting = 0;
    },
  };
}
