import type { LoadGate } from "./load-gate.ts";

/**
 * Lets the calls of one client's batch in that go to the node in batches: up to `places` of them take a place among the calls under way, the
 * others go with them. So a batch takes no more of its caller's places than when its calls go alone.
 */
export function createBatchGate(gate: LoadGate, places: number): LoadGate {
  let taken = 0;
  let passengers = 0;
  return {
    callsInFlight: gate.callsInFlight,
    enter: (caller, tier, costUnits, overload) => {
      if (taken >= places) {
        passengers += 1;
        return undefined;
      }
      const refusal = gate.enter(caller, tier, costUnits, overload);
      if (refusal === undefined) taken += 1;
      return refusal;
    },
    leave: (caller, costUnits, overload) => {
      if (passengers > 0) {
        passengers -= 1;
        return;
      }
      taken -= 1;
      gate.leave(caller, costUnits, overload);
    },
  };
}
