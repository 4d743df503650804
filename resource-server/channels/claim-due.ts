import { doubleWait } from "#daemon/time.ts";
import type { Channel } from "../claims/channel-ledger.ts";
import { computeClaimableUntilMs } from "./channel-terms.ts";

/** Fields of a channel that determine when it is claimed. */
type Claimable = Pick<Channel, "owedSinceMs" | "rejectedClaims" | "state" | "config">;

/**
 * Returns whether a channel's charges must be claimed now: `claimWithinMs` after the first of them, or a third of the withdrawal delay if
 * that is less; when half of the delay has passed since the payer requested a withdrawal; or when a rejected claim has waited long enough.
 */
export function isClaimDue(channel: Claimable, atMs: number, claimWithinMs: number): boolean {
  const { owedSinceMs = Number.POSITIVE_INFINITY, rejectedClaims, state, config } = channel;
  const withdrawDelayMs = config.withdrawDelay * 1_000;
  const isWithdrawn = atMs >= computeClaimableUntilMs(state, config.withdrawDelay);
  const waitedMs = atMs - owedSinceMs;
  if (rejectedClaims > 0) return waitedMs >= computeBackoffMs(rejectedClaims, withdrawDelayMs, isWithdrawn);
  return isWithdrawn || waitedMs >= Math.min(claimWithinMs, withdrawDelayMs / 3);
}

/**
 * Computes the wait after rejected claims: doubled each time, but short enough for five more claims before a payer who requests a withdrawal
 * unnoticed gets it, and for thirty once its request is known.
 */
function computeBackoffMs(rejectedClaims: number, withdrawDelayMs: number, isWithdrawn: boolean): number {
  const initialMs = withdrawDelayMs / 60;
  return doubleWait(rejectedClaims, { initialMs, maxMs: isWithdrawn ? initialMs : withdrawDelayMs / 6 });
}
