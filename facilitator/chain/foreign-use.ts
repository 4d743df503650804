import { isSameHex, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import { locatePermit2Nonce } from "#x402/transfer-payload.ts";
import { permit2Address, permit2Proxies, readSettleTerms } from "#x402/permit2.ts";
import { logBlocksMax, type Chain, type Receipt } from "./chain.ts";
import { authorizationCanceledTopic, nonceInvalidationTopic, transferTopic } from "./token.ts";
import {
  buildAuthorizationUseTopics,
  isTransfer,
  listRecipients,
  showsAuthorizedTransfer,
  usesPermit2,
  type Transfer,
} from "./transfer-method.ts";

type ForeignUse = Readonly<{ receipt: Receipt; isPaid: boolean }>;

/**
 * Finds a recent transaction of a third party that executed a payment, or cancelled its authorization: anyone may submit an EIP-3009
 * authorization, or a Permit2 payment of scheme `exact`. Returns undefined if the node knows none.
 *
 * @throws {ChainError} when the node can't respond.
 */
export async function findForeignUse(
  transfer: Transfer,
  headNumber: number,
  chain: Pick<Chain, "recentLogs" | "receipt" | "transactionCall">,
): Promise<ForeignUse | undefined> {
  const { asset, payer } = transfer;
  if (!usesPermit2(transfer)) {
    const hash = await findAuthorizationUse(transfer, headNumber, chain);
    const receipt = hash === undefined ? undefined : await chain.receipt(hash);
    return receipt && { receipt, isPaid: showsAuthorizedTransfer(receipt, transfer) };
  }
  // Only the facilitator that the payer named can settle a payment with a maximum.
  const recipients = isSameHex(transfer.contract, permit2Proxies.upto) ? [] : listRecipients(transfer);
  const found = recipients.map((to) =>
    chain.recentLogs(asset, [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(to)], headNumber),
  );
  const transfers = (await Promise.all(found)).flat();
  const matching = transfers.filter((log) => isTransfer(log, transfer)).toReversed();
  for (const { transactionHash } of matching.slice(0, foreignMax)) {
    // Permit2 logs no nonce, so the transfer of another payment looks the same; the call in its transaction
    // distinguishes them.
    const made = await chain.transactionCall(transactionHash);
    const isMade = made !== undefined && isSameHex(transfer.contract, made.to ?? undefined);
    if (!isMade || !makesSamePayment(made.input, transfer)) continue;
    const receipt = await chain.receipt(transactionHash);
    return receipt && { receipt, isPaid: true };
  }
  const cancellation = await findPermit2Cancellation(transfer, headNumber, chain);
  const receipt = cancellation === undefined ? undefined : await chain.receipt(cancellation);
  return receipt && { receipt, isPaid: false };
}

/** Returns whether a call belongs to the payment, with any form of its signature. */
function makesSamePayment(input: Hex, { callData }: Pick<Transfer, "callData">): boolean {
  const terms = readSettleTerms(callData);
  return terms === undefined ? isSameHex(input, callData) : readSettleTerms(input) === terms;
}

/** Max transfers of one payer to one payee whose calls are read. */
const foreignMax = 20;

/** Max queries for the use of one authorization. */
const queriesMax = 10;

async function findAuthorizationUse(
  authorization: Transfer,
  headNumber: number,
  chain: Pick<Chain, "recentLogs">,
): Promise<Hex | undefined> {
  const [used, ...which] = buildAuthorizationUseTopics(authorization);
  const topics = [[used, authorizationCanceledTopic], ...which];
  for (let query = 0; query < queriesMax && headNumber >= query * logBlocksMax; query += 1) {
    const uses = await chain.recentLogs(authorization.asset, topics, headNumber - query * logBlocksMax);
    if (uses.length > 0) return uses.at(-1)?.transactionHash;
  }
  return undefined;
}

/** Finds a recent transaction in which a payer cancelled a Permit2 nonce. Using it for a payment logs no such event. */
async function findPermit2Cancellation(
  { payer, authorizationNonce }: Transfer,
  headNumber: number,
  chain: Pick<Chain, "recentLogs">,
): Promise<Hex | undefined> {
  const nonce = locatePermit2Nonce(authorizationNonce);
  const logs = await chain.recentLogs(permit2Address, [nonceInvalidationTopic, encodeAddressTopic(payer)], headNumber);
  const isCancelled = (data: Hex) => {
    const [word, mask] = [BigInt(data.slice(0, 66)), BigInt(`0x${data.slice(66)}`)];
    return word === nonce.word && (mask & nonce.mask) !== 0n;
  };
  return logs.findLast(({ data }) => data.length === 130 && isCancelled(data))?.transactionHash;
}
