import type { FairSlots } from "#daemon/fair-shares.ts";
import type { Caller } from "../callers/caller.ts";

/**
 * Limit of in-flight settlements exceeded, for one seller or in total, or too many verified payments of one payer await settlement. Nothing
 * was done for this one; a retry after a moment makes sense.
 */
export class OverloadError extends Error {
  override readonly name = "OverloadError";
  readonly code = "overloaded";

  constructor(full: "caller" | "payer" | "all", most: number) {
    super(
      {
        caller: "too many of your settlements are in flight; try again in a moment",
        payer: `${most} verified payments of this payer wait for their settlement, which is the most; settle them, or wait for an hour`,
        all: `${most} settlements are under way, which is the most; try again in a moment`,
      }[full],
    );
  }
}

/**
 * Acquires a slot for a settlement that its caller starts. Returns undefined for a caller in this process, which is not limited by slots.
 *
 * @throws {OverloadError} when the caller has used its share, or no slot is free.
 */
export function acquireSettlementSlot(slots: FairSlots, { waiting }: Pick<Caller, "waiting">): Disposable | undefined {
  if (waiting === undefined || waiting.caller === "") return undefined;
  const entry = slots.enter(waiting.caller);
  if (!entry.ok) throw new OverloadError(entry.full, slots.max);
  return entry.slot;
}
