import { reason } from "#x402/reason.ts";
import type { Chain } from "../../chain/chain.ts";
import { findForeignSettlement, isNonceUsed } from "../../chain/transfer-method.ts";
import type { InFlight } from "../in-flight.ts";
import type { Outcome } from "../settlement.ts";

/** Cause for diagnosing a settlement; see `Decision`. */
export type Cause = "reverted" | "lost" | "expired";

/** Result of a diagnosis: the outcome, a decision to send again, or inconclusive. */
export type Finding = Readonly<{ kind: "outcome"; outcome: Outcome } | { kind: "send_anew" } | { kind: "uncertain" }>;

/**
 * Determines the outcome of a settlement that its own transactions did not execute. Anyone may submit most signed payments, so a
 * third party may have done so: then the payer has paid, and the settlement succeeded.
 *
 * @throws {ChainError} when the node can't respond.
 */
export async function diagnose(
  { settlement, attempts }: InFlight,
  cause: Cause,
  headNumber: number,
  { chain }: Readonly<{ chain: Chain }>,
): Promise<Finding> {
  const newest = attempts.at(-1);
  if (newest === undefined) return { kind: "uncertain" };
  const isUsed = await isNonceUsed(settlement, chain);
  const buildFailure = (code: Extract<Outcome, { state: "failed" }>["reason"], message: string): Finding => ({
    kind: "outcome",
    outcome: { state: "failed", transaction: newest.hash, reason: code, message },
  });
  if (!isUsed) {
    if (cause === "lost") return { kind: "send_anew" };
    if (cause === "expired")
      return buildFailure(reason.validBefore, "the authorization ended before a block took the settlement.");
    return buildFailure(reason.transaction, "the token reverted the transfer; the payer was not charged.");
  }
  const transaction = await findForeignSettlement(settlement, headNumber, chain);
  const { amount } = settlement;
  if (transaction !== undefined) return { kind: "outcome", outcome: { state: "settled", transaction, amount } };
  if (cause === "lost") return { kind: "uncertain" };
  return buildFailure(reason.nonceUsed, "the authorization was used or cancelled by another transaction.");
}
