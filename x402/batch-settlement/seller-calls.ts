import { nameReasons, type ReportedResult, type SettleResult, reject } from "../payment-result.ts";
import { encodeInteger, type Hex } from "../hex.ts";
import { keccak256 } from "../typed-data.ts";
import { reason, type Reason, type Rejection } from "../reason.ts";
import type { Order, Transfers } from "../scheme.ts";
import type { SignedPayment } from "../signed-payment.ts";
import type { ChannelStates } from "./channel-states.ts";
import {
  channelsAddress,
  computeChannelId,
  encodeClaims,
  encodeRefund,
  encodeSettle,
  buildDepositKey,
  buildSellerDepositKey,
  readReceiver,
  readTotals,
} from "./channel.ts";
import type { ChannelConfig, ChannelPayload, Claim } from "./payload.ts";
import { readChainId } from "./voucher.ts";
import { rejectDifference } from "../terms.ts";

type OrderOf<Type extends ChannelPayload["type"]> = Order<Extract<ChannelPayload, { type: Type }>>;
type CallResult = Promise<ReportedResult<SettleResult>>;

/** Time after which the same call becomes a new transaction; well below a channel's shortest withdrawal delay. */
const retryMs = 300_000;

/** Max transactions of one refund, each sent after the previous one failed. */
const refundAttemptsMax = 10;

const names = {
  claim: nameFailures(reason.claimSimulation, reason.claimTransaction),
  settle: nameFailures(reason.settleSimulation, reason.settleTransaction),
  refund: nameFailures(reason.refundSimulation, reason.refundTransaction),
};

function nameFailures(simulation: Reason, transaction: Reason): ReadonlyMap<Reason, Reason> {
  return new Map<Reason, Reason>([
    [reason.simulation, simulation],
    [reason.transaction, transaction],
    [reason.transferEvent, transaction],
  ]);
}

/** Claims vouchers for their receiver: the chain records the claims, and no tokens move. */
export async function claimVouchers(
  { payment, requirements }: OrderOf<"claim">,
  transfers: Transfers,
  states: Pick<ChannelStates, "change">,
): CallResult {
  const { claims, claimAuthorizerSignature: signature } = payment;
  const rejection = claims
    .map(({ voucher }) => rejectChannel(voucher.channel, requirements))
    .find((found) => found !== undefined);
  if (rejection !== undefined) return reject(rejection, undefined);
  if (signature === undefined) return reject(unsigned("claimAuthorizerSignature"), undefined);
  const chainId = readChainId(requirements);
  const ids = claims.map(({ voucher }) => computeChannelId(voucher.channel, chainId));
  const totals = await Promise.all(ids.map((id) => readTotals(id, transfers.read)));
  const claimed = new Map(ids.map((id, index) => [id, totals[index]?.[1] ?? 0n]));
  let amount = 0n;
  for (const [index, { totalClaimed }] of claims.entries()) {
    const id = ids[index] ?? "0x";
    const before = claimed.get(id) ?? 0n;
    if (totalClaimed <= before) continue;
    amount += totalClaimed - before;
    claimed.set(id, totalClaimed);
  }
  const reported = { amount: "" };
  const { payTo, asset } = requirements;
  const party = { asset: asset as Hex, payer: payTo as Hex, payTo: payTo as Hex };
  const unserved = amount === 0n ? undefined : rejectAsset(requirements, transfers);
  const deposits = claims.map(({ voucher }) => buildDepositKey(voucher.channel));
  const isRemainder = ids.every((id, index) => (claimed.get(id) ?? 0n) >= (totals[index]?.[0] ?? 0n));
  const call = buildCall(
    { ...party, amount, unserved, deposits, isRemainder },
    encodeClaims(claims, signature),
    encodePeriod(transfers),
  );
  const settle = () => (amount === 0n ? transfers.settleNothing(call) : transfers.settle(call));
  return { ...nameReasons(await states.change(ids, transfers, settle), names.claim), payer: undefined, reported };
}

export async function settleClaimed({ payment, requirements }: OrderOf<"settle">, transfers: Transfers): CallResult {
  const { receiver, token } = payment;
  const rejection = rejectChannel({ receiver, token }, requirements);
  if (rejection !== undefined) return reject(rejection, undefined);
  const before = await readReceiver(receiver, token, transfers.read);
  const amount = before.totalClaimed - before.totalSettled;
  if (amount === 0n) {
    const message = `everything claimed for ${receiver} was already transferred to it.`;
    return reject({ reason: reason.nothingToSettle, message }, undefined);
  }
  const unserved = rejectAsset(requirements, transfers);
  const deposits = [buildSellerDepositKey(receiver, token)];
  const party = { asset: token, payer: receiver, payTo: receiver, amount, unserved, deposits, isRemainder: true };
  const state = encodeInteger(before.totalClaimed) + encodeInteger(before.totalSettled);
  const call = buildCall(party, encodeSettle(receiver, token), state + encodePeriod(transfers));
  const answered = { ...nameReasons(await transfers.settle(call), names.settle), payer: undefined };
  if (answered.result.state !== "settled") return answered;
  // A claim may have happened in between, so read the chain.
  const after = await readReceiver(receiver, token, transfers.read);
  return { ...answered, reported: { amount: String(after.totalSettled - before.totalSettled) } };
}

/** Refunds the uncharged amount of a channel to its payer, after claiming the charged amount. */
export async function refundChannel(
  { payment, requirements }: OrderOf<"refund">,
  transfers: Transfers,
  states: ChannelStates,
): CallResult {
  const { channelConfig: config, voucher, amount: requested, refundNonce: nonce, claims } = payment;
  const { payer, token: asset, receiver: payTo } = config;
  const channelId = computeChannelId(config, readChainId(requirements));
  const rejection = rejectChannel(config, requirements);
  if (rejection !== undefined) return reject(rejection, payer);
  if (channelId !== voucher.channelId.toLowerCase()) {
    return reject({ reason: reason.channelId, message: `the channel's id is ${channelId}.` }, payer);
  }
  if (requested === undefined || nonce === undefined || claims === undefined) {
    const message = "a refund needs amount, refundNonce and claims, which the seller adds.";
    return reject({ reason: reason.channelPayload, message }, payer);
  }
  const { refundAuthorizerSignature: signature, claimAuthorizerSignature: claimSignature } = payment;
  if (signature === undefined) return reject(unsigned("refundAuthorizerSignature"), payer);
  if (claims.length > 0 && claimSignature === undefined) return reject(unsigned("claimAuthorizerSignature"), payer);
  const before = await states.refresh(channelId, transfers);
  const claimed = findClaimed(claims, channelId, before.totalClaimed, readChainId(requirements));
  const available = before.balance - claimed;
  const amount = requested < available ? requested : available;
  const isFirst = before.refundNonce === nonce;
  const claimCall = claims.length > 0 ? encodeClaims(claims, claimSignature ?? "0x") : undefined;
  const data = encodeRefund({ config, amount: requested, nonce, signature }, claimCall);
  const unserved = rejectAsset(requirements, transfers);
  const deposits = [config, ...claims.map((claim) => claim.voucher.channel)].map(buildDepositKey);
  const isRemainder = requested >= available;
  const party = { asset, payer, payTo, amount: isFirst ? amount : requested, unserved, deposits, isRemainder };
  // The chain executes a refund only once, so a repeated request is always the same settlement.
  let [attempt, call] = [0n, buildCall(party, data, "")];
  let progress = await transfers.progress(call.id);
  for (; progress === "failed" && attempt < refundAttemptsMax; progress = await transfers.progress(call.id))
    call = buildCall(party, data, encodeInteger((attempt += 1n)));
  if (progress === undefined && isFirst && amount <= 0n) {
    return reject({ reason: reason.nothingToRefund, message: `channel ${channelId} has nothing to refund.` }, payer);
  }
  const unpaid = transfers.rejectRefund({ asset, claimed, refunds: before.refundNonce });
  if (unpaid !== undefined && progress === undefined) return reject(unpaid, payer);
  const ids = claims.map(({ voucher: { channel } }) => computeChannelId(channel, readChainId(requirements)));
  const settle = () => transfers.settle(call);
  const answered = nameReasons(await states.change([channelId, ...ids], transfers, settle), names.refund);
  // Don't derive this from the balance: another node may still report the balance from before the refund.
  const paid = answered.result.state === "settled" ? (answered.result.amount ?? amount) : amount;
  return states.report(answered, { channelId, amount: paid }, transfers);
}

function findClaimed(claims: readonly Claim[], channelId: Hex, claimed: bigint, chainId: number): bigint {
  return claims
    .filter(({ voucher }) => computeChannelId(voucher.channel, chainId) === channelId)
    .reduce((most, { totalClaimed }) => (totalClaimed > most ? totalClaimed : most), claimed);
}

function encodePeriod({ clock }: Pick<Transfers, "clock">): string {
  return encodeInteger(BigInt(Math.floor(clock() / retryMs)));
}

/**
 * Builds a call that the receiver's authorizer has signed, or that anyone may make. Repeating it has no further effect,
 * so everyone may learn its outcome; `state` distinguishes it from an earlier call with the same data.
 */
function buildCall(
  party: Pick<SignedPayment, "asset" | "payer" | "payTo" | "amount" | "unserved" | "deposits" | "isRemainder">,
  callData: Hex,
  state: string,
): SignedPayment {
  const digest = keccak256(Buffer.from(callData.slice(2) + state, "hex"));
  const id: Hex = `0x${digest.toString("hex")}`;
  const authorization = { validAfter: 0n, validBefore: 2n ** 256n - 1n, nonce: id };
  return { id, ...party, contract: channelsAddress, callData, authorization, isRelayed: true };
}

/** Returns why an asset is not served: it is not in the settings, or was removed. */
export function rejectAsset(
  { asset }: OrderOf<"claim">["requirements"],
  { assets }: Pick<Transfers, "assets">,
): Rejection | undefined {
  if (assets.has(asset.toLowerCase())) return undefined;
  return { reason: reason.requirements, message: `asset ${asset} is not settled here.` };
}

function rejectChannel(
  { receiver, token }: Pick<ChannelConfig, "receiver" | "token">,
  { payTo, asset }: OrderOf<"claim">["requirements"],
): Rejection | undefined {
  const compared = [
    ["receiver", receiver, payTo, reason.channelReceiver],
    ["token", token, asset, reason.channelToken],
  ] as const;
  return rejectDifference("the channel's", compared);
}

function unsigned(field: string): Rejection {
  const message = `payload.${field} is missing; sign it with the key of the channels' receiverAuthorizer, because this facilitator has none.`;
  return { reason: reason.unsignedClaim, message };
}
