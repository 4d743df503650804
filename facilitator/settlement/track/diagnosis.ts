import { readChannelCall } from "#x402/batch-settlement/channel.ts";
import { type Hex, encodeAddressTopic } from "#x402/hex.ts";
import { reason } from "#x402/reason.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { ChainError, requireExecutionError } from "../../chain/chain-error.ts";
import { isConfirmed, logBlocksMax, type Chain, type Head, type Receipt } from "../../chain/chain.ts";
import { findForeignUse } from "../../chain/foreign-use.ts";
import type { SuspectedParty } from "../../chain/suspensions.ts";
import { readGasLimit } from "../../chain/transaction-signer.ts";
import { isNonceUsed, isWithinChannels, readAvailableFunds } from "../../chain/transfer-method.ts";
import type { SettlementContext } from "../context.ts";
import type { Attempt, Outcome, InFlightSettlement } from "../settlement.ts";

type MinedState = Readonly<{ head: Head; receipts: ReadonlyMap<Hex, Receipt> }>;

export type Cause = "reverted" | "nothing_moved" | "lost" | "expired";

/** Outcome, with the party that made a transaction fail; or a decision to sign again; or inconclusive. */
export type Finding = Readonly<
  | { kind: "outcome"; outcome: Outcome; culprit?: SuspectedParty | undefined }
  | { kind: "send_anew"; hasLackedGas: boolean }
  | { kind: "uncertain" }
>;

/** Max seconds between the latest block and the next one, in which calls are simulated. */
const nextBlockSeconds = 15n;

/** Max diagnoses that wait for a node to see the transaction that used a nonce. */
const searchesMax = 6;

/** Max depth of a block whose state is read: other nodes than archive nodes keep the state of the latest 128 blocks. */
const stateBlocksMax = 100;

/**
 * Determines the outcome of a settlement that its own transactions did not execute. Anyone can submit most signed payments; if a third
 * party did, the payer has paid and the settlement succeeded. Several nodes may share one URL, so data missing on a node behind `head` does
 * not count as absent. A reorg may free a nonce that is used in a block without its confirmations, so that the settlement's transaction may
 * still be mined.
 *
 * @throws {ChainError} when the node doesn't respond.
 */
export async function diagnose(
  entry: InFlightSettlement,
  cause: Cause,
  { head, receipts }: MinedState,
  context: SettlementContext,
): Promise<Finding> {
  const { settlement, attempts, diagnosed } = entry;
  const { chain } = context;
  const { confirmations } = context.settlement;
  const newestAttempt = attempts.at(-1);
  if (newestAttempt === undefined) return { kind: "uncertain" };
  const confirmedBlock = Math.max(head.number - Math.min(confirmations, stateBlocksMax) + 1, 0);
  const isMined = async ({ signer, nonce }: Attempt) => (await chain.transactionCount(signer, confirmedBlock)) > nonce;
  const [isUsed, ...minedTransactions] = await Promise.all([
    isNonceUsed(settlement, chain, head.number),
    ...(cause === "expired" ? [] : attempts.map(isMined)),
  ]);
  if (minedTransactions.includes(false)) return { kind: "uncertain" };
  const buildFailure = (
    code: Extract<Outcome, { state: "failed" }>["reason"],
    message: string,
    culprit?: SuspectedParty,
  ): Finding => ({
    kind: "outcome",
    outcome: { state: "failed", transaction: newestAttempt.hash, reason: code, message },
    culprit,
  });
  const buildOwnFailure = async (): Promise<Finding> => {
    const isReverted = cause === "reverted";
    const culprit = await findCulprit({ settlement, attempts }, { head, receipts, isReverted }, context);
    return isReverted
      ? buildFailure(reason.transaction, "the token reverted the transfer; the payer was not charged.", culprit)
      : buildFailure(reason.transferEvent, "the transaction succeeded, but the token logged no transfer.", culprit);
  };
  if (!isUsed) {
    if (cause === "lost") return { kind: "send_anew", hasLackedGas: false };
    if (cause === "expired")
      return buildFailure(reason.validBefore, "the authorization expired before a block included the settlement.");
    const hasLackedGas = cause === "reverted" && (await ranOutOfGas(entry, receipts, context));
    return hasLackedGas ? { kind: "send_anew", hasLackedGas } : buildOwnFailure();
  }
  const use = await findForeignUse(settlement, head.number, chain);
  if (use === undefined && (cause === "lost" || (diagnosed?.times ?? 0) < searchesMax)) return { kind: "uncertain" };
  if (use !== undefined && !isConfirmed(use.receipt, head, { confirmations })) return { kind: "uncertain" };
  if (use?.isPaid === true) {
    const { amount } = settlement;
    return { kind: "outcome", outcome: { state: "settled", transaction: use.receipt.transactionHash, amount } };
  }
  if (use !== undefined && receipts.has(use.receipt.transactionHash)) return buildOwnFailure();
  const message = "the authorization was used or cancelled by another transaction.";
  const isWaste = cause === "reverted" || cause === "nothing_moved";
  return buildFailure(reason.nonceUsed, message, isWaste ? { kind: "payer" } : undefined);
}

/**
 * Returns the party at fault if a mined transaction moved nothing although the chain had accepted the payment in a simulation; undefined
 * for a channel call without the payer's signature, or if the authorization may have expired. The payer's code may have been called for the
 * signature, and a channel's terms may have rejected a deposit. A token is rejected for everyone, so it is blamed only if the payer did
 * nothing in between.
 *
 * @throws {ChainError} when the node doesn't respond.
 */
async function findCulprit(
  { settlement, attempts }: Pick<InFlightSettlement, "settlement" | "attempts">,
  { isReverted, ...mined }: MinedState & Readonly<{ isReverted: boolean }>,
  { chain, gas }: SettlementContext,
): Promise<SuspectedParty | undefined> {
  if (isWithinChannels(settlement)) return undefined;
  const { payer, validBefore } = settlement;
  const receipts = attempts.flatMap(({ hash }) => mined.receipts.get(hash) ?? []);
  const revertedReceipt = isReverted ? receipts.at(-1) : undefined;
  const code = await chain.code(payer);
  if (code !== "0x" || settlement.contract === multicall3Address) {
    const block = revertedReceipt && (await chain.head(revertedReceipt.blockNumber));
    return block === undefined || BigInt(block.timestamp) < validBefore ? { kind: "wallet", code } : undefined;
  }
  if (revertedReceipt !== undefined && BigInt(mined.head.timestamp) + nextBlockSeconds >= validBefore) return undefined;
  const [isIdle, { balance }, response] = await Promise.all([
    wasIdle({ settlement, attempts }, mined, chain),
    readAvailableFunds(settlement, chain),
    gas.estimate(settlement, chain),
  ]);
  const isDeposit = readChannelCall(settlement) !== undefined;
  return { kind: !isDeposit && isIdle && balance >= settlement.amount && response.ok ? "token" : "payer" };
}

/**
 * Returns whether the payer can't have caused a failure: from the block before the transaction until now, it sent nothing, so it neither
 * approved anything nor temporarily had code (EIP-7702); the token logged nothing about it, so its balance was unchanged; and the
 * authorization was unused. Returns false if the node no longer has this data.
 */
async function wasIdle(
  { settlement, attempts }: Pick<InFlightSettlement, "settlement" | "attempts">,
  { head, receipts }: MinedState,
  chain: Chain,
): Promise<boolean> {
  const { asset, payer } = settlement;
  const minedReceipts = attempts.flatMap((attempt) => receipts.get(attempt.hash) ?? []);
  const firstBlock = Math.min(...minedReceipts.map(({ blockNumber }) => blockNumber));
  if (!(head.number - firstBlock < logBlocksMax)) return false;
  const account = encodeAddressTopic(payer);
  const payerLogs = [
    [null, account],
    [null, null, account],
  ].map((topics) => chain.recentLogs(asset, topics, head.number, firstBlock));
  try {
    const [countBefore, countAfter, wasUsed, ...logs] = await Promise.all([
      chain.transactionCount(payer, firstBlock - 1),
      chain.transactionCount(payer, head.number),
      isNonceUsed(settlement, chain, firstBlock - 1),
      ...payerLogs,
    ]);
    const ownHashes = new Set(attempts.filter(({ batch }) => batch === undefined).map(({ hash }) => hash));
    return (
      countBefore === countAfter &&
      !wasUsed &&
      logs.flat().every(({ transactionHash }) => ownHashes.has(transactionHash))
    );
  } catch (error) {
    if (error instanceof ChainError && error.fault === "rejected") return false;
    throw error;
  }
}

/**
 * Returns whether a settlement's transactions failed for lack of gas: one of them used nearly all its gas or, shared with others, reverted
 * as a whole; none of its own had the max gas of a settlement; and the token would accept the payment now. Each contract in the call chain retains a 64th of the gas from the one that it
 * calls (EIP-150), so some gas remains when the innermost runs out; and where a chain charges the whole limit, all of it counts as used.
 *
 * @throws {ChainError} when the node doesn't respond.
 */
export async function ranOutOfGas(
  { settlement, attempts }: InFlightSettlement,
  receipts: MinedState["receipts"],
  { chain, gas }: SettlementContext,
): Promise<boolean> {
  const minedAttempts = attempts.flatMap((attempt) => {
    const receipt = receipts.get(attempt.hash);
    if (receipt === undefined) return [];
    const limit = readGasLimit(attempt.rawTransaction);
    const isShared = attempt.batch !== undefined;
    const isSpent = receipt.gasUsed * 10n >= limit * 9n || (isShared && receipt.status === 0);
    return [{ hadMaxGas: !isShared && limit >= gas.most(settlement), isSpent }];
  });
  if (minedAttempts.some(({ hadMaxGas }) => hadMaxGas) || !minedAttempts.some(({ isSpent }) => isSpent)) return false;
  const response = await gas.estimate(settlement, chain);
  if (!response.ok) requireExecutionError(response.error);
  return response.ok;
}
