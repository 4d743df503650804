import type { Chain } from "../../chain/chain.ts";
import { authorizationStateCall } from "../../chain/token.ts";
import { integerWord, type Hex } from "#x402/hex.ts";
import { reason } from "#x402/reason.ts";
import type { InFlight } from "../in-flight.ts";
import type { Outcome } from "../settlement.ts";
import { authorizationUseTopics, showsAuthorizedTransfer } from "./transfer-proof.ts";

/** Why a settlement is diagnosed: see `Decision`. */
export type Cause = "reverted" | "lost" | "expired";

/** What the examination found: the outcome, that it is to be sent anew, or nothing certain yet. */
export type Finding = Readonly<{ kind: "outcome"; outcome: Outcome } | { kind: "send_anew" } | { kind: "uncertain" }>;

/**
 * Finds out what became of a settlement that its own transactions did not carry out. Anyone may submit a signed authorization
 * (EIP-3009), so someone else may have: then the payer has paid, and the settlement succeeded.
 *
 * @throws {ChainError} when the node can't say.
 */
export async function diagnose(
  { settlement, attempts }: InFlight,
  cause: Cause,
  headNumber: number,
  { chain }: Readonly<{ chain: Chain }>,
): Promise<Finding> {
  const newest = attempts.at(-1);
  if (newest === undefined) return { kind: "uncertain" };
  const { asset, payer, authorizationNonce } = settlement;
  const state = await chain.read({ to: asset, data: authorizationStateCall(payer, authorizationNonce) });
  const failed = (code: Extract<Outcome, { state: "failed" }>["reason"], message: string): Finding => ({
    kind: "outcome",
    outcome: { state: "failed", transaction: newest.hash, reason: code, message },
  });
  if (state.slice(2) !== integerWord(1n)) {
    if (cause === "lost") return { kind: "send_anew" };
    if (cause === "expired")
      return failed(reason.validBefore, "the authorization ended before a block took the settlement.");
    return failed(reason.transaction, "the token reverted the transfer; the payer was not charged.");
  }
  const transaction = await foreignSettlement({ settlement, headNumber }, chain);
  if (transaction !== undefined) return { kind: "outcome", outcome: { state: "settled", transaction } };
  if (cause === "lost") return { kind: "uncertain" };
  return failed(reason.nonceUsed, "the authorization was used or cancelled by another transaction.");
}

async function foreignSettlement(
  { settlement, headNumber }: Readonly<{ settlement: InFlight["settlement"]; headNumber: number }>,
  chain: Chain,
): Promise<Hex | undefined> {
  const uses = await chain.recentLogs(settlement.asset, authorizationUseTopics(settlement), headNumber);
  const hash = uses.at(-1)?.transactionHash;
  const receipt = hash === undefined ? undefined : await chain.receipt(hash);
  return receipt !== undefined && showsAuthorizedTransfer(receipt, settlement) ? receipt.transactionHash : undefined;
}
