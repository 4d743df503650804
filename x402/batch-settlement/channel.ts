import * as AbiFunction from "ox/AbiFunction";
import * as AbiParameters from "ox/AbiParameters";
import { canonicalContracts } from "../contracts.ts";
import { encodeAddress, encodeInteger, zeroAddress, type Hex, type Word } from "../hex.ts";
import { formatSignature, parseSignature, type DepositKey } from "../signed-payment.ts";
import {
  cacheSeparator,
  computeDomainSeparator,
  computeSelector,
  computeTypedDataDigest,
  hashText,
  hashWords,
} from "../typed-data.ts";
import type { ChannelConfig, Claim } from "./payload.ts";

/** Contract that holds the channels' deposits, at the same address on every chain that has it. */
export const channelsAddress: Hex = canonicalContracts.batchSettlement.address;

const configType =
  "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)";
const configTypeHash = hashText(configType);
const voucherTypeHash = hashText("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
const refundTypeHash = hashText("Refund(bytes32 channelId,uint256 nonce,uint128 amount)");
const entryType = "ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)";
const entryTypeHash = hashText(entryType);
const batchTypeHash = hashText(`ClaimBatch(ClaimEntry[] claims)${entryType}`);

const domain = { name: "x402 Batch Settlement", version: "1", address: channelsAddress };
const getSeparator = cacheSeparator((chainId) => computeDomainSeparator({ ...domain, chainId }).slice(2));

function computeDigest(chainId: number, struct: Word): Uint8Array {
  return computeTypedDataDigest(getSeparator(chainId), struct);
}

export function computeChannelId(config: ChannelConfig, chainId: number): Hex {
  const { payer, payerAuthorizer, receiver, receiverAuthorizer, token, withdrawDelay, salt } = config;
  const addresses = [payer, payerAuthorizer, receiver, receiverAuthorizer, token].map(encodeAddress);
  const struct = hashWords(configTypeHash, ...addresses, encodeInteger(BigInt(withdrawDelay)), salt.slice(2));
  return `0x${Buffer.from(computeDigest(chainId, struct)).toString("hex")}`;
}

export function computeVoucherDigest(channelId: Hex, maxClaimableAmount: bigint, chainId: number): Uint8Array {
  return computeDigest(chainId, hashWords(voucherTypeHash, channelId.slice(2), encodeInteger(maxClaimableAmount)));
}

export function computeClaimsDigest(claims: readonly Omit<Claim, "signature">[], chainId: number): Uint8Array {
  const entries = claims.map(({ voucher: { channel, maxClaimableAmount }, totalClaimed }) => {
    const amounts = [maxClaimableAmount, totalClaimed].map(encodeInteger);
    return hashWords(entryTypeHash, computeChannelId(channel, chainId).slice(2), ...amounts);
  });
  return computeDigest(chainId, hashWords(batchTypeHash, hashWords(...entries)));
}

export function computeRefundDigest(channelId: Hex, nonce: bigint, amount: bigint, chainId: number): Uint8Array {
  return computeDigest(
    chainId,
    hashWords(refundTypeHash, channelId.slice(2), encodeInteger(nonce), encodeInteger(amount)),
  );
}

/** Computes the nonce that ties an EIP-3009 deposit to its channel. */
export function computeDepositNonce(channelId: Hex, salt: bigint): Hex {
  return `0x${hashWords(channelId.slice(2), encodeInteger(salt))}`;
}

const struct =
  "struct Config { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }";
const structs = [
  struct,
  "struct Voucher { Config channel; uint128 maxClaimableAmount; }",
  "struct Claim { Voucher voucher; bytes signature; uint128 totalClaimed; }",
] as const;
const depositFunction = AbiFunction.from([
  "function deposit(Config config, uint128 amount, address collector, bytes collectorData)",
  struct,
]);
const claimFunction = AbiFunction.from([
  "function claimWithSignature(Claim[] claims, bytes authorizerSignature)",
  ...structs,
]);
const refundFunction = AbiFunction.from([
  "function refundWithSignature(Config config, uint128 amount, uint256 nonce, bytes signature)",
  struct,
]);
const settleFunction = AbiFunction.from("function settle(address receiver, address token)");
const multicallFunction = AbiFunction.from("function multicall(bytes[] data)");

/** How a deposit is collected: by EIP-3009 (`salt`), or by Permit2 (`nonce`) with an optional encoded approval. */
export type DepositCollection = Readonly<
  | { collector: "erc3009Collector"; validAfter: bigint; validBefore: bigint; salt: bigint; signature: Hex }
  | { collector: "permit2Collector"; nonce: bigint; deadline: bigint; signature: Hex; approval: Hex }
>;

export function encodeDeposit(config: ChannelConfig, amount: bigint, by: DepositCollection): Hex {
  const data =
    by.collector === "erc3009Collector"
      ? AbiParameters.encode(AbiParameters.from("uint256, uint256, uint256, bytes"), [
          by.validAfter,
          by.validBefore,
          by.salt,
          by.signature,
        ])
      : AbiParameters.encode(AbiParameters.from("uint256, uint256, bytes, bytes"), [
          by.nonce,
          by.deadline,
          by.signature,
          by.approval,
        ]);
  return AbiFunction.encodeData(depositFunction, [config, amount, canonicalContracts[by.collector].address, data]);
}

/** Number of hexadecimal digits, including 0x, of a deposit's selector and channel. */
const channelDigits = 10 + 64 * 7;

export function buildDepositKey(config: ChannelConfig): DepositKey {
  const data = AbiFunction.encodeData(depositFunction, [config, 0n, zeroAddress, "0x"]);
  const { token: asset, receiver: payTo, payer } = config;
  return { asset, payTo, payer, callStart: data.slice(0, channelDigits) };
}

export function buildSellerDepositKey(payTo: Hex, asset: Hex): DepositKey {
  return { asset, payTo, callStart: selectors.deposit };
}

export function encodeClaims(claims: readonly Claim[], signature: Hex): Hex {
  // A verified voucher's `v` may be in a form that contracts reject.
  const canonical = claims.map((claim) => {
    const parsed = parseSignature(claim.signature);
    return parsed === undefined ? claim : { ...claim, signature: formatSignature(parsed) };
  });
  return AbiFunction.encodeData(claimFunction, [canonical, signature]);
}

export function encodeSettle(receiver: Hex, token: Hex): Hex {
  return AbiFunction.encodeData(settleFunction, [receiver, token]);
}

export type Refund = Readonly<{ config: ChannelConfig; amount: bigint; nonce: bigint; signature: Hex }>;

/** Encodes the call that refunds a channel, preceded by the given encoded claim, if any. */
export function encodeRefund({ config, amount, nonce, signature }: Refund, claimCall: Hex | undefined): Hex {
  const refund = AbiFunction.encodeData(refundFunction, [config, amount, nonce, signature]);
  return claimCall === undefined ? refund : AbiFunction.encodeData(multicallFunction, [[claimCall, refund]]);
}

const selectors = {
  deposit: AbiFunction.getSelector(depositFunction),
  claim: AbiFunction.getSelector(claimFunction),
  settle: AbiFunction.getSelector(settleFunction),
};

/** Call to the channels' contract: a payer's deposit through a collector, or `parts` claims signed by its sellers. */
export type ChannelCall = Readonly<
  { kind: "deposit"; collector: Hex } | { kind: "claim" | "settle" | "refund"; parts: number }
>;

/** Parses the effects of a settlement's call on channels; undefined if it is not a call to their contract. */
export function readChannelCall({
  contract,
  callData,
}: Readonly<{ contract: Hex; callData: Hex }>): ChannelCall | undefined {
  if (contract.toLowerCase() !== channelsAddress.toLowerCase()) return undefined;
  const word = (index: number) => callData.slice(10 + 64 * index, 74 + 64 * index);
  const selector = callData.slice(0, 10);
  if (selector === selectors.deposit) return { kind: "deposit", collector: `0x${word(8).slice(24)}` };
  if (selector === selectors.claim) return { kind: "claim", parts: Number(`0x${word(2)}`) };
  return selector === selectors.settle ? { kind: "settle", parts: 1 } : { kind: "refund", parts: 2 };
}

const views = {
  channels: computeSelector("channels(bytes32)"),
  withdrawals: computeSelector("pendingWithdrawals(bytes32)"),
  refundNonce: computeSelector("refundNonce(bytes32)"),
  receivers: computeSelector("receivers(address,address)"),
};

export type Read = (call: Readonly<{ to: Hex; data: Hex }>) => Promise<Hex>;

/** State of a channel on the chain; amounts in the token's smallest unit, the time in Unix seconds, 0 if no withdrawal is pending. */
export type ChannelState = Readonly<{
  balance: bigint;
  totalClaimed: bigint;
  withdrawRequestedAt: number;
  refundNonce: bigint;
}>;

/** Reads the amount deposited into a channel, minus refunds, and how much of it is claimed. */
export function readTotals(channelId: Hex, read: Read): Promise<readonly [balance: bigint, totalClaimed: bigint]> {
  return readWords(`${views.channels}${channelId.slice(2)}`, read);
}

export async function readChannelState(channelId: Hex, read: Read): Promise<ChannelState> {
  const view = (name: "withdrawals" | "refundNonce") => readWords(`${views[name]}${channelId.slice(2)}`, read);
  const [[balance, totalClaimed], [, initiatedAt], [refundNonce]] = await Promise.all([
    readTotals(channelId, read),
    view("withdrawals"),
    view("refundNonce"),
  ]);
  return { balance, totalClaimed, withdrawRequestedAt: Number(initiatedAt), refundNonce };
}

/** Reads how much of a token was claimed for a receiver, and how much was transferred to it. */
export async function readReceiver(
  receiver: Hex,
  token: Hex,
  read: Read,
): Promise<Readonly<{ totalClaimed: bigint; totalSettled: bigint }>> {
  const [totalClaimed, totalSettled] = await readWords(
    `${views.receivers}${encodeAddress(receiver)}${encodeAddress(token)}`,
    read,
  );
  return { totalClaimed, totalSettled };
}

async function readWords(data: string, read: Read): Promise<readonly [bigint, bigint]> {
  const result = await read({ to: channelsAddress, data: data as Hex });
  return [BigInt(result.slice(0, 66)), BigInt(`0x${result.slice(66, 130) || "0"}`)];
}
