import { reason, type Refusal } from "#x402/reason.ts";
import type { Authorization } from "#x402/typed-data.ts";

/** Min remaining validity of an authorization, so that a block can still include it; same as in the reference implementation. */
const settlementMarginSeconds = 6n;

/**
 * Returns why an authorization is not valid at this time; undefined if it is. EIP-3009: valid strictly after `validAfter` and strictly
 * before `validBefore`, by block time.
 */
export function rejectTime(
  { validAfter, validBefore }: Pick<Authorization, "validAfter" | "validBefore">,
  nowMs: number,
): Refusal | undefined {
  const now = BigInt(Math.floor(nowMs / 1_000));
  if (validBefore < now + settlementMarginSeconds) {
    return {
      reason: reason.validBefore,
      message: `the authorization expires at ${validBefore}, it is now ${now}, and settling takes up to ${settlementMarginSeconds} s; sign a new one.`,
    };
  }
  if (validAfter >= now) {
    return {
      reason: reason.validAfter,
      message: `the authorization is valid from ${validAfter}, it is now ${now}; wait.`,
    };
  }
  return undefined;
}
