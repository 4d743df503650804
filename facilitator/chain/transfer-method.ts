import { channelsAddress, readChannelCall } from "#x402/batch-settlement/channel.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { encodeInteger, isSameHex, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import { approvesPermit2, permit2Address, permit2Proxies, readNamedFacilitator } from "#x402/permit2.ts";
import { locatePermit2Nonce } from "#x402/transfer-payload.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import type { Chain, ContractLog, Receipt } from "./chain.ts";
import {
  authorizationUsedTopic,
  encodeAllowanceCall,
  encodeAuthorizationState,
  encodeBalanceOfCall,
  encodeNonceBitmapCall,
  transferTopic,
} from "./token.ts";

export type Transfer = Readonly<{
  asset: Hex;
  /** Contract that moves the tokens: the token itself, or one that calls it. */
  contract: Hex;
  payer: Hex;
  payTo: Hex;
  /** Amount in the asset's smallest unit. */
  amount: bigint;
  authorizationNonce: Hex;
  callData: Hex;
}>;

const proxies = new Set(Object.values(permit2Proxies).map((proxy) => proxy.toLowerCase()));

export function usesPermit2(transfer: Pick<Transfer, "contract" | "callData">): boolean {
  const call = readChannelCall(transfer);
  return call?.kind === "deposit"
    ? isSameHex(call.collector, canonicalContracts.permit2Collector.address)
    : proxies.has(transfer.contract.toLowerCase());
}

/** Returns whether the call moves only funds within channels, and uses no payer's nonce. */
export function isWithinChannels(transfer: Parameters<typeof readChannelCall>[0]): boolean {
  const call = readChannelCall(transfer);
  return call !== undefined && call.kind !== "deposit";
}

/** Returns the contract that accepts each of a payer's nonces only once. */
export function getNonceSpace(transfer: Pick<Transfer, "asset" | "contract" | "callData">): Hex {
  if (isWithinChannels(transfer)) return channelsAddress;
  return usesPermit2(transfer) ? permit2Address : transfer.asset;
}

/**
 * Returns whether the payment's nonce is used or cancelled, at a block if given.
 *
 * @throws {ChainError} when the node doesn't respond.
 */
export async function isNonceUsed(
  transfer: Pick<Transfer, "asset" | "contract" | "payer" | "authorizationNonce" | "callData">,
  chain: Pick<Chain, "read">,
  block?: number | "pending",
): Promise<boolean> {
  const { asset, payer, authorizationNonce } = transfer;
  if (isWithinChannels(transfer)) return false;
  if (!usesPermit2(transfer)) {
    const call = { to: asset, data: encodeAuthorizationState(payer, authorizationNonce) };
    const state = await chain.read(call, block);
    return state.slice(2) === encodeInteger(1n);
  }
  const { word, mask } = locatePermit2Nonce(authorizationNonce);
  const bitmap = await chain.read({ to: permit2Address, data: encodeNonceBitmapCall(payer, word) }, block);
  return (parseWord(bitmap) & mask) !== 0n;
}

/** How much a payer can pay, and whether Permit2's allowance rather than the balance limits it. */
export type AvailableFunds = Readonly<{ balance: bigint; isAllowance: boolean }>;

/**
 * Reads how much the payer can pay with a payment's method: the balance, capped at Permit2's allowance unless the
 * payment itself approves it. Reads at the latest block, or including the node's pending transactions.
 *
 * @throws {ChainError} when the node doesn't respond.
 */
export async function readAvailableFunds(
  { asset, contract, payer, callData }: Pick<Transfer, "asset" | "contract" | "payer" | "callData">,
  chain: Pick<Chain, "read">,
  block?: "pending",
): Promise<AvailableFunds> {
  if (isWithinChannels({ contract, callData })) return { balance: 2n ** 256n, isAllowance: false };
  const needsAllowance = usesPermit2({ contract, callData }) && !approvesPermit2(callData);
  const [balance, allowance] = await Promise.all([
    chain.read({ to: asset, data: encodeBalanceOfCall(payer) }, block).then(parseWord),
    needsAllowance
      ? chain.read({ to: asset, data: encodeAllowanceCall(payer, permit2Address) }, block).then(parseWord)
      : undefined,
  ]);
  return allowance !== undefined && allowance < balance
    ? { balance: allowance, isAllowance: true }
    : { balance, isAllowance: false };
}

export function rejectUnfunded(
  { asset, payer, amount }: Pick<Transfer, "asset" | "payer" | "amount">,
  { balance, isAllowance }: AvailableFunds,
): Rejection {
  if (!isAllowance)
    return {
      reason: reason.balance,
      message: `the balance of ${payer} is ${balance} of ${asset}, but the payment is ${amount}.`,
    };
  const message = `Permit2's allowance is ${balance} of ${payer}'s ${asset}, but the payment is ${amount}; approve ${permit2Address} on the token, or send the extension eip2612GasSponsoring.`;
  return { reason: reason.permit2Allowance, message };
}

function parseWord(word: Hex): bigint {
  return word === "0x" ? 0n : BigInt(word);
}

/** Returns whether the receipt of one of our transactions shows the payment's transfer; a claim of vouchers has none. */
export function showsTransfer(
  receipt: Receipt,
  transfer: Pick<Transfer, "asset" | "contract" | "payer" | "payTo" | "amount" | "callData">,
): boolean {
  const call = readChannelCall(transfer);
  if (!isWithinChannels(transfer)) return receipt.logs.some((log) => isTransfer(log, transfer));
  // Another claim may have increased the amount since it was read, so any transfer to the recipient counts.
  const { asset, payer, payTo } = transfer;
  const recipient = call?.kind === "refund" ? payer : payTo;
  const topics = [transferTopic, encodeAddressTopic(channelsAddress), encodeAddressTopic(recipient)];
  return (
    call?.kind === "claim" ||
    receipt.logs.some((log) => isSameHex(log.address, asset) && hasSameTopics(log.topics, topics))
  );
}

/** Returns who receives the tokens: the payee or, for a deposit, the channels' contract or its collector. */
export function listRecipients({
  payTo,
  ...transfer
}: Pick<Transfer, "payTo" | "contract" | "callData">): readonly Hex[] {
  const call = readChannelCall(transfer);
  return call?.kind === "deposit" ? [call.collector, channelsAddress] : [payTo];
}

/** Returns the only account that may submit the payment, in lower case: the facilitator that the payer of `upto` named. */
export function getNamedSigner({ contract, callData }: Pick<Transfer, "contract" | "callData">): Hex | undefined {
  return isSameHex(contract, permit2Proxies.upto) ? readNamedFacilitator(callData) : undefined;
}

/** Returns whether a payment can share a transaction, because its contract moves tokens for any caller. */
export function canShareTransaction({ asset, contract }: Pick<Transfer, "asset" | "contract">): boolean {
  return isSameHex(contract, asset) || isSameHex(contract, permit2Proxies.exact);
}

/** Returns whether the receipts of two payments would be indistinguishable, because Permit2 logs no nonce. */
export function areIndistinguishable(a: Transfer, b: Transfer): boolean {
  if (!usesPermit2(a) && !usesPermit2(b)) return false;
  const [one, otherTransfer] = [a, b].map(({ asset, payer, payTo, amount }) => `${asset} ${payer} ${payTo} ${amount}`);
  return one?.toLowerCase() === otherTransfer?.toLowerCase();
}

export function showsSharedTransfer(receipt: Receipt, transfer: Transfer): boolean {
  return usesPermit2(transfer) ? showsTransfer(receipt, transfer) : showsAuthorizedTransfer(receipt, transfer);
}

/**
 * Returns whether a foreign transaction executed this exact authorization: the token logs the authorization's use right before the
 * transfer. A transfer elsewhere in the transaction may belong to another authorization of the same payer.
 */
export function showsAuthorizedTransfer(receipt: Receipt, transfer: Transfer): boolean {
  return receipt.logs.some((log, index) => {
    const nextLog = receipt.logs[index + 1];
    return isAuthorizationUse(log, transfer) && nextLog !== undefined && isTransfer(nextLog, transfer);
  });
}

export function isTransfer(
  { address, topics, data }: ContractLog,
  transfer: Pick<Transfer, "asset" | "contract" | "payer" | "payTo" | "amount" | "callData">,
): boolean {
  const { asset, payer, amount } = transfer;
  const isRecipient = (to: Hex) =>
    hasSameTopics(topics, [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(to)]);
  return (
    isSameHex(address, asset) &&
    listRecipients(transfer).some(isRecipient) &&
    data.length === 66 &&
    BigInt(data) === amount
  );
}

export function buildAuthorizationUseTopics({
  payer,
  authorizationNonce,
}: Pick<Transfer, "payer" | "authorizationNonce">): readonly [Hex, Hex, Hex] {
  return [authorizationUsedTopic, encodeAddressTopic(payer), authorizationNonce];
}

function isAuthorizationUse({ address, topics }: ContractLog, authorization: Transfer): boolean {
  return isSameHex(address, authorization.asset) && hasSameTopics(topics, buildAuthorizationUseTopics(authorization));
}

function hasSameTopics(topics: readonly Hex[], expected: readonly Hex[]): boolean {
  return topics.length === expected.length && expected.every((topic, index) => isSameHex(topic, topics[index]));
}
