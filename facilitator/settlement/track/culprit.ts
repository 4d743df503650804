import { readChannelCall } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { logBlocksMax, type Chain, type Head, type Receipt } from "../../chain/chain.ts";
import { ChainError } from "../../chain/chain-error.ts";
import type { GasLimits } from "../../chain/gas-limits.ts";
import { encodeAddressTopic } from "../../chain/token.ts";
import { isNonceUsed, isWithinChannels, readCover } from "../../chain/transfer-method.ts";
import type { Culprit } from "../../chain/suspensions.ts";
import type { InFlightSettlement } from "../in-flight.ts";

/** Newest block, and the receipts of our mined transactions by hash. */
export type Mined = Readonly<{ head: Head; receipts: ReadonlyMap<Hex, Receipt> }>;

/**
 * Returns who made a mined transaction move nothing although the chain had accepted the payment; undefined for a call of the channels that
 * no payer signed. The payer's code may have been asked for the signature, and a channel's terms may have rejected a deposit. The token is
 * rejected for everybody afterwards, so it is to blame only if the payer did nothing meanwhile.
 *
 * @throws {ChainError} when the node can't respond.
 */
export async function findCulprit(
  { settlement, attempts }: Pick<InFlightSettlement, "settlement" | "attempts">,
  mined: Mined,
  { chain, gas }: Readonly<{ chain: Chain; gas: GasLimits }>,
): Promise<Culprit | undefined> {
  if (isWithinChannels(settlement)) return undefined;
  const [code, isIdle, { held }, answer] = await Promise.all([
    chain.code(settlement.payer),
    wasIdle({ settlement, attempts }, mined, chain),
    readCover(settlement, chain),
    gas.estimate(settlement, chain),
  ]);
  if (code !== "0x" || settlement.contract === multicall3Address) return { kind: "wallet", code };
  const isDeposit = readChannelCall(settlement) !== undefined;
  return { kind: !isDeposit && isIdle && held >= settlement.amount && answer.ok ? "token" : "payer" };
}

/**
 * Returns whether the payer can't have caused a failure: from the block before the transaction until now it sent nothing, so that it neither
 * approved anything nor had code for a while (EIP-7702); the token logged nothing about it, so that its balance was the same; and the
 * authorization was unused. False where the node no longer knows.
 */
async function wasIdle(
  { settlement, attempts }: Pick<InFlightSettlement, "settlement" | "attempts">,
  { head, receipts }: Mined,
  chain: Chain,
): Promise<boolean> {
  const { asset, payer } = settlement;
  const mined = attempts.flatMap((attempt) => receipts.get(attempt.hash) ?? []);
  const first = Math.min(...mined.map(({ blockNumber }) => blockNumber));
  if (!(head.number - first < logBlocksMax)) return false;
  const account = encodeAddressTopic(payer);
  const about = [
    [null, account],
    [null, null, account],
  ].map((topics) => chain.recentLogs(asset, topics, head.number, first));
  try {
    const [sentBefore, sent, wasUsed, ...logs] = await Promise.all([
      chain.transactionCount(payer, first - 1),
      chain.transactionCount(payer, head.number),
      isNonceUsed(settlement, chain, first - 1),
      ...about,
    ]);
    const own = new Set(attempts.filter(({ batch }) => batch === undefined).map(({ hash }) => hash));
    return sentBefore === sent && !wasUsed && logs.flat().every(({ transactionHash }) => own.has(transactionHash));
  } catch (error) {
    if (error instanceof ChainError && error.fault === "refused") return false;
    throw error;
  }
}
