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
 * Finds a recent third-party transaction that executed a payment or cancelled its authorization: anyone may submit an EIP-3009
 * authorization, or a Permit2 payment of scheme `exact`. Returns undefined if the node finds none.
 *
 * @throws {ChainError} when the node doesn't respond.
 */
export async function findForeignUse(
  transfer: Transfer,
  headNumber: number,
  chain: Pick<Chain, "recentLogs" | "receipt" | "transactionCall">,
): Promise<ForeignUse | undefined> {
  if (!usesPermit2(transfer)) {
    const hash = await findAuthorizationUse(transfer, headNumber, chain);
    const receipt = hash === undefined ? undefined : await chain.receipt(hash);
    return receipt && { receipt, isPaid: showsAuthorizedTransfer(receipt, transfer) };
  }
  const foreignUse = await findPermit2Use(transfer, headNumber, chain);
  const found = foreignUse ?? (await findPermit2Cancellation(transfer, headNumber, chain));
  const receipt = found === undefined ? undefined : await chain.receipt(found);
  return receipt && { receipt, isPaid: foreignUse !== undefined };
}

async function findPermit2Use(
  transfer: Transfer,
  headNumber: number,
  chain: Pick<Chain, "recentLogs" | "transactionCall">,
): Promise<Hex | undefined> {
  const { asset, payer } = transfer;
  // Only the facilitator named in the payment can settle a payment with a maximum.
  const recipients = isSameHex(transfer.contract, permit2Proxies.upto) ? [] : listRecipients(transfer);
  if (recipients.length === 0) return undefined;
  let remainingMax = foreignMax;
  return searchBack(headNumber, async (block) => {
    const found = recipients.map((to) =>
      chain.recentLogs(asset, [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(to)], block),
    );
    const transfers = (await Promise.all(found)).flat();
    const matchingTransfers = transfers.filter((log) => isTransfer(log, transfer)).toReversed();
    for (const { transactionHash } of matchingTransfers.slice(0, remainingMax)) {
      remainingMax -= 1;
      // Permit2 logs no nonce, so the transfer of another payment looks the same; the call in its transaction
      // distinguishes them.
      const transactionCall = await chain.transactionCall(transactionHash);
      const isMade = transactionCall !== undefined && isSameHex(transfer.contract, transactionCall.to ?? undefined);
      if (isMade && makesSamePayment(transactionCall.input, transfer)) return transactionHash;
    }
    return undefined;
  });
}

/** Returns whether a call belongs to the payment, with any form of its signature. */
function makesSamePayment(input: Hex, { callData }: Pick<Transfer, "callData">): boolean {
  const terms = readSettleTerms(callData);
  return terms === undefined ? isSameHex(input, callData) : readSettleTerms(input) === terms;
}

/** Max transfers from one payer to one payee whose calls are read. */
const foreignMax = 20;

/** Max queries for one kind of use of an authorization. */
const queriesMax = 10;

async function findAuthorizationUse(
  authorization: Transfer,
  headNumber: number,
  chain: Pick<Chain, "recentLogs">,
): Promise<Hex | undefined> {
  const [usedTopic, ...which] = buildAuthorizationUseTopics(authorization);
  const topics = [[usedTopic, authorizationCanceledTopic], ...which];
  return searchBack(headNumber, async (block) => {
    const uses = await chain.recentLogs(authorization.asset, topics, block);
    return uses.at(-1)?.transactionHash;
  });
}

/** Searches the blocks before a head, newest first, in the largest ranges that a query may cover. */
async function searchBack(
  headNumber: number,
  search: (headNumber: number) => Promise<Hex | undefined>,
): Promise<Hex | undefined> {
  for (let query = 0; query < queriesMax && headNumber >= query * logBlocksMax; query += 1) {
    const transfers = await search(headNumber - query * logBlocksMax);
    if (transfers !== undefined) return transfers;
  }
  return undefined;
}

/** Finds a recent transaction in which a payer cancelled a Permit2 nonce. A payment that uses the nonce logs no such event. */
async function findPermit2Cancellation(
  { payer, authorizationNonce }: Transfer,
  headNumber: number,
  chain: Pick<Chain, "recentLogs">,
): Promise<Hex | undefined> {
  const nonce = locatePermit2Nonce(authorizationNonce);
  const isCancelled = (data: Hex) => {
    const [word, mask] = [BigInt(data.slice(0, 66)), BigInt(`0x${data.slice(66)}`)];
    return word === nonce.word && (mask & nonce.mask) !== 0n;
  };
  return searchBack(headNumber, async (block) => {
    const logs = await chain.recentLogs(permit2Address, [nonceInvalidationTopic, encodeAddressTopic(payer)], block);
    return logs.findLast(({ data }) => data.length === 130 && isCancelled(data))?.transactionHash;
  });
}
