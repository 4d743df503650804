import { encodeInteger, type Hex } from "#x402/hex.ts";
import { reason } from "#x402/reason.ts";
import type { Chain, EventLog, Receipt } from "../../chain/chain.ts";
import {
  encodeAuthorizationState,
  encodeAddressTopic,
  authorizationUsedTopic,
  transferTopic,
} from "../../chain/token.ts";
import type { InFlight } from "../in-flight.ts";
import type { Outcome, Settlement } from "../settlement.ts";

/** Cause for diagnosing a settlement; see `Decision`. */
export type Cause = "reverted" | "lost" | "expired";

/** Result of a diagnosis: the outcome, a decision to send again, or inconclusive. */
export type Finding = Readonly<{ kind: "outcome"; outcome: Outcome } | { kind: "send_anew" } | { kind: "uncertain" }>;

/**
 * Determines the outcome of a settlement that its own transactions did not execute. Anyone may submit a signed authorization (EIP-3009), so
 * a third party may have done so: then the payer has paid, and the settlement succeeded.
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
  const { asset, payer, authorizationNonce } = settlement;
  const state = await chain.read({ to: asset, data: encodeAuthorizationState(payer, authorizationNonce) });
  const buildFailure = (code: Extract<Outcome, { state: "failed" }>["reason"], message: string): Finding => ({
    kind: "outcome",
    outcome: { state: "failed", transaction: newest.hash, reason: code, message },
  });
  if (state.slice(2) !== encodeInteger(1n)) {
    if (cause === "lost") return { kind: "send_anew" };
    if (cause === "expired")
      return buildFailure(reason.validBefore, "the authorization ended before a block took the settlement.");
    return buildFailure(reason.transaction, "the token reverted the transfer; the payer was not charged.");
  }
  const transaction = await findForeignSettlement({ settlement, headNumber }, chain);
  if (transaction !== undefined) return { kind: "outcome", outcome: { state: "settled", transaction } };
  if (cause === "lost") return { kind: "uncertain" };
  return buildFailure(reason.nonceUsed, "the authorization was used or cancelled by another transaction.");
}

async function findForeignSettlement(
  { settlement, headNumber }: Readonly<{ settlement: InFlight["settlement"]; headNumber: number }>,
  chain: Chain,
): Promise<Hex | undefined> {
  const uses = await chain.recentLogs(settlement.asset, buildAuthorizationUseTopics(settlement), headNumber);
  const hash = uses.at(-1)?.transactionHash;
  const receipt = hash === undefined ? undefined : await chain.receipt(hash);
  return receipt !== undefined && showsAuthorizedTransfer(receipt, settlement) ? receipt.transactionHash : undefined;
}

/** Returns whether the receipt of one of our transactions shows the settlement's transfer. */
export function showsTransfer(receipt: Receipt, settlement: Settlement): boolean {
  return receipt.logs.some((log) => isTransfer(log, settlement));
}

/**
 * Returns whether a foreign transaction executed this exact authorization: the token logs the authorization's use right before the
 * transfer. A transfer elsewhere in the transaction may belong to another authorization of the same payer.
 */
export function showsAuthorizedTransfer(receipt: Receipt, settlement: Settlement): boolean {
  return receipt.logs.some((log, index) => {
    const next = receipt.logs[index + 1];
    return isAuthorizationUse(log, settlement) && next !== undefined && isTransfer(next, settlement);
  });
}

/** Builds the topics of the event that a settlement's authorization was used. */
function buildAuthorizationUseTopics({ payer, authorizationNonce }: Settlement): readonly Hex[] {
  return [authorizationUsedTopic, encodeAddressTopic(payer), authorizationNonce];
}

function isTransfer({ address, topics, data }: EventLog, { asset, payer, payTo, amount }: Settlement): boolean {
  return (
    isSameHex(address, asset) &&
    hasSameTopics(topics, [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(payTo)]) &&
    data.length === 66 &&
    BigInt(data) === amount
  );
}

function isAuthorizationUse({ address, topics }: EventLog, settlement: Settlement): boolean {
  return isSameHex(address, settlement.asset) && hasSameTopics(topics, buildAuthorizationUseTopics(settlement));
}

function hasSameTopics(found: readonly Hex[], expected: readonly Hex[]): boolean {
  return found.length === expected.length && expected.every((topic, index) => isSameHex(topic, found[index]));
}

function isSameHex(a: Hex, b: Hex | undefined): boolean {
  return a.toLowerCase() === b?.toLowerCase();
}
