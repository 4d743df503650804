import { readChannelCall } from "#x402/batch-settlement/channel.ts";
import { reason } from "#x402/reason.ts";
import type { Chain, Head } from "../../chain/chain.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import { findForeignUse, isNonceUsed, readCover } from "../../chain/transfer-method.ts";
import type { Culprit } from "../../payment/suspensions.ts";
import type { InFlight } from "../in-flight.ts";
import type { Outcome, Settlement } from "../settlement.ts";

/** Cause for diagnosing a settlement; see `Decision`. */
export type Cause = "reverted" | "lost" | "expired";

/** Result of a diagnosis: the outcome, with who made a transaction fail; a decision to send again; or inconclusive. */
export type Finding = Readonly<
  { kind: "outcome"; outcome: Outcome; culprit?: Culprit | undefined } | { kind: "send_anew" } | { kind: "uncertain" }
>;

/** `confirmations`: blocks that make a third party's transaction final, with its own. */
type DiagnosisDependencies = Readonly<{ chain: Chain; gas: GasLimits; confirmations: number }>;

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
  { settlement, attempts, diagnosed }: InFlight,
  cause: Cause,
  head: Head,
  dependencies: DiagnosisDependencies,
): Promise<Finding> {
  const { chain, confirmations } = dependencies;
  const newest = attempts.at(-1);
  if (newest === undefined) return { kind: "uncertain" };
  const isUsed = await isNonceUsed(settlement, chain, head.number);
  const buildFailure = (
    code: Extract<Outcome, { state: "failed" }>["reason"],
    message: string,
    culprit?: Culprit,
  ): Finding => ({
    kind: "outcome",
    outcome: { state: "failed", transaction: newest.hash, reason: code, message },
    culprit,
  });
  if (!isUsed) {
    if (cause === "lost") return { kind: "send_anew" };
    if (cause === "expired")
      return buildFailure(reason.validBefore, "the authorization ended before a block took the settlement.");
    const culprit = await findCulprit(settlement, head, dependencies);
    return buildFailure(reason.transaction, "the token reverted the transfer; the payer was not charged.", culprit);
  }
  const use = await findForeignUse(settlement, head.number, chain);
  if (use === undefined && (cause === "lost" || (diagnosed?.times ?? 0) < searchesMax)) return { kind: "uncertain" };
  if (use !== undefined && head.number - use.receipt.blockNumber + 1 < confirmations) return { kind: "uncertain" };
  if (use?.isPaid === true) {
    const { amount } = settlement;
    return { kind: "outcome", outcome: { state: "settled", transaction: use.receipt.transactionHash, amount } };
  }
  const message = "the authorization was used or cancelled by another transaction.";
  return buildFailure(reason.nonceUsed, message, cause === "reverted" ? "payer" : undefined);
}

/**
 * Returns who made a transaction fail whose payment the chain had accepted: the payer who can't pay any more, or who has code that may be
 * asked for the signature; the token if it accepts the payment again. Nobody if the authorization ended before, or for a call of the
 * channels, which the payer does not make.
 */
async function findCulprit(
  settlement: Settlement,
  head: Head,
  { chain, gas }: Pick<DiagnosisDependencies, "chain" | "gas">,
): Promise<Culprit | undefined> {
  const isOfChannel = readChannelCall(settlement) !== undefined;
  if (isOfChannel || BigInt(head.timestamp) >= settlement.validBefore) return undefined;
  const [{ held }, code, answer] = await Promise.all([
    readCover(settlement, chain),
    chain.code(settlement.payer),
    gas.estimate(settlement, chain),
  ]);
  return held >= settlement.amount && code === "0x" && answer.ok ? "token" : "payer";
}
