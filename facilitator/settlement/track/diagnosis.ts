import { reason } from "#x402/reason.ts";
import type { Chain } from "../../chain/chain.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import { isNonceUsed } from "../../chain/transfer-method.ts";
import { findForeignUse } from "../../chain/foreign-use.ts";
import type { Culprit } from "../../chain/suspensions.ts";
import type { InFlightSettlement } from "../in-flight.ts";
import type { Attempt, Outcome } from "../settlement.ts";
import { findCulprit, type Mined } from "./culprit.ts";

/** Cause for diagnosing a settlement; see `Decision`. */
export type Cause = "reverted" | "nothing_moved" | "lost" | "expired";

/** Result of a diagnosis: the outcome, with who made a transaction fail; a decision to send again; or inconclusive. */
export type Finding = Readonly<
  { kind: "outcome"; outcome: Outcome; culprit?: Culprit | undefined } | { kind: "send_anew" } | { kind: "uncertain" }
>;

/** `confirmations`: blocks that make a third party's transaction final, with its own. */
type DiagnosisDependencies = Readonly<{ chain: Chain; gas: GasLimits; confirmations: number }>;

/** Max seconds from the newest block to the next one, in whose state calls are simulated. */
const nextBlockSeconds = 15n;

/** Max diagnoses that wait for a node to know the transaction by which a nonce was used. */
const searchesMax = 6;

/**
 * Determines the outcome of a settlement that its own transactions did not execute. Anyone may submit most signed payments, so a
 * third party may have done so: then the payer has paid, and the settlement succeeded. Several nodes may share one URL, so what a node behind
 * `head` does not know does not count as absent.
 *
 * @throws {ChainError} when the node can't respond.
 */
export async function diagnose(
  { settlement, attempts, diagnosed }: InFlightSettlement,
  cause: Cause,
  { head, receipts }: Mined,
  dependencies: DiagnosisDependencies,
): Promise<Finding> {
  const { chain, confirmations } = dependencies;
  const newest = attempts.at(-1);
  if (newest === undefined) return { kind: "uncertain" };
  const isMined = async ({ signer, nonce }: Attempt) => (await chain.transactionCount(signer, head.number)) > nonce;
  const [isUsed, ...mined] = await Promise.all([
    isNonceUsed(settlement, chain, head.number),
    ...(cause === "expired" ? [] : attempts.map(isMined)),
  ]);
  // The node with the receipts, or the signer's nonce, is ahead of `head`: a transaction may have paid in a block that `isUsed` leaves out.
  if (mined.includes(false)) return { kind: "uncertain" };
  const buildFailure = (
    code: Extract<Outcome, { state: "failed" }>["reason"],
    message: string,
    culprit?: Culprit,
  ): Finding => ({
    kind: "outcome",
    outcome: { state: "failed", transaction: newest.hash, reason: code, message },
    culprit,
  });
  const buildOwnFailure = async (): Promise<Finding> => {
    const isOver = cause === "reverted" && BigInt(head.timestamp) + nextBlockSeconds >= settlement.validBefore;
    const culprit = isOver ? undefined : await findCulprit({ settlement, attempts }, { head, receipts }, dependencies);
    return cause === "reverted"
      ? buildFailure(reason.transaction, "the token reverted the transfer; the payer was not charged.", culprit)
      : buildFailure(reason.transferEvent, "the transaction succeeded, but the token logged no transfer.", culprit);
  };
  if (!isUsed) {
    if (cause === "lost") return { kind: "send_anew" };
    if (cause === "expired")
      return buildFailure(reason.validBefore, "the authorization ended before a block took the settlement.");
    return buildOwnFailure();
  }
  const use = await findForeignUse(settlement, head.number, chain);
  if (use === undefined && (cause === "lost" || (diagnosed?.times ?? 0) < searchesMax)) return { kind: "uncertain" };
  if (use !== undefined && head.number - use.receipt.blockNumber + 1 < confirmations) return { kind: "uncertain" };
  if (use?.isPaid === true) {
    const { amount } = settlement;
    return { kind: "outcome", outcome: { state: "settled", transaction: use.receipt.transactionHash, amount } };
  }
  if (use !== undefined && receipts.has(use.receipt.transactionHash)) return buildOwnFailure();
  const message = "the authorization was used or cancelled by another transaction.";
  const isWaste = cause === "reverted" || cause === "nothing_moved";
  return buildFailure(reason.nonceUsed, message, isWaste ? { kind: "payer" } : undefined);
}
