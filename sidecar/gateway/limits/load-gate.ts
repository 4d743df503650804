import type { PolicySettings, Tier } from "../policy/settings.ts";

/** Why a call is not let to the node now. */
export type LoadRefusal = "concurrency" | "overload";

/** Counts the calls to the node under way, in all and by caller, and sheds load before it collapses. */
export type LoadGate = Readonly<{
  /** Lets a call in, or tells why not. Whoever is let in must {@link LoadGate.leave} once. */
  enter: (
    caller: string,
    tier: Tier,
    costUnits: number,
    overload: PolicySettings["overload"],
  ) => LoadRefusal | undefined;
  leave: (caller: string, costUnits: number, overload: PolicySettings["overload"]) => void;
  callsInFlight: () => number;
}>;

/** Makes a gate; `loopDelayMs` tells how late the process's own event loop runs. */
export function makeLoadGate({ loopDelayMs }: Readonly<{ loopDelayMs: () => number }>): LoadGate {
  const byCaller = new Map<string, number>();
  let calls = 0;
  let heavyCalls = 0;
  return {
    callsInFlight: () => calls,
    enter: (caller, tier, costUnits, overload) => {
      const own = byCaller.get(caller) ?? 0;
      if (own >= tier.concurrency) return "concurrency";
      if (calls >= overload.callsInFlight) return "overload";
      if (costUnits >= overload.heavyCostUnits) {
        const loaded = calls >= overload.heavyCallsInFlight || heavyCalls >= overload.heavyParallel;
        if (loaded || loopDelayMs() > overload.loopDelayMs) return "overload";
        heavyCalls += 1;
      }
      calls += 1;
      byCaller.set(caller, own + 1);
      return undefined;
    },
    leave: (caller, costUnits, overload) => {
      calls -= 1;
      if (costUnits >= overload.heavyCostUnits) heavyCalls -= 1;
      const own = byCaller.get(caller) ?? 1;
      if (own <= 1) byCaller.delete(caller);
      else byCaller.set(caller, own - 1);
    },
  };
}
