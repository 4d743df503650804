import type { FairPlaces } from "#daemon/fair-places.ts";
import type { Caller } from "../callers/caller.ts";

/**
 * More settlements are under way than may be, of one seller or in all, or more verified payments of one payer wait for theirs. Nothing was done about this one; calling again in a moment makes
 * sense.
 */
export class OverloadError extends Error {
  override readonly name = "OverloadError";
  readonly code = "overloaded";

  constructor(full: "caller" | "payer" | "all", most: number) {
    super(
      {
        caller: "as many of your settlements as may be are under way; try again in a moment",
        payer: `${most} verified payments of this payer wait for their settlement, which is the most; settle them, or wait for an hour`,
        all: `${most} settlements are under way, which is the most; try again in a moment`,
      }[full],
    );
  }
}

/**
 * Takes a place for a settlement that its caller begins. Undefined for a caller in this process, which shares the places with nobody.
 *
 * @throws {OverloadError} when the caller has its share already, or no place is free.
 */
export function acquireSettlementPlace(
  places: FairPlaces,
  { waiting }: Pick<Caller, "waiting">,
): Disposable | undefined {
  if (waiting === undefined || waiting.caller === "") return undefined;
  const entry = places.enter(waiting.caller);
  if (!entry.ok) throw new OverloadError(entry.full, places.most);
  return entry.place;
}
