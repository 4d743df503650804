import * as AbiFunction from "ox/AbiFunction";
import {
  channelsAddress,
  computeChannelId,
  computeClaimsDigest,
  computeRefundDigest,
} from "#x402/batch-settlement/channel.ts";
import type { ChannelConfig, Claim } from "#x402/batch-settlement/payload.ts";
import { encodeInteger, isSameHex, type Hex } from "#x402/hex.ts";
import { isSignedBy, parseSignature } from "#x402/signed-payment.ts";
import { computeSelector } from "#x402/typed-data.ts";
import { findVoucher } from "./channel-payments.ts";

/** Channel state in the contract; withdrawals are not simulated. */
export type ChannelOnChain = Readonly<{ balance: bigint; totalClaimed: bigint; refundNonce: bigint }>;

/** State of the channels' contract after a block: channels by ID, and the amounts claimed for the only payee and transferred to it. */
export type ChannelsState = Readonly<{
  channels: ReadonlyMap<Hex, ChannelOnChain>;
  payee: Readonly<{ claimed: bigint; settled: bigint }>;
  /** Contract wallets that confirm no signature. */
  rejecting: ReadonlySet<string>;
}>;

type MutableChannels = { -readonly [Field in keyof ChannelsState]: ChannelsState[Field] };

/** Tokens that leave the contract. */
type Payout = Readonly<{ to: Hex; amount: bigint }>;

const unknown: ChannelOnChain = { balance: 0n, totalClaimed: 0n, refundNonce: 0n };

const config =
  "(address payer, address payerAuthorizer, address receiver, address receiverAuthorizer, address token, uint40 withdrawDelay, bytes32 salt)";
const claim = `((${config} channel, uint128 maxClaimableAmount) voucher, bytes signature, uint128 totalClaimed)`;
const functions = {
  claim: AbiFunction.from(`function claimWithSignature(${claim}[] claims, bytes authorizerSignature)`),
  refund: AbiFunction.from(
    `function refundWithSignature(${config} config, uint128 amount, uint256 nonce, bytes signature)`,
  ),
  settle: AbiFunction.from("function settle(address receiver, address token)"),
  multicall: AbiFunction.from("function multicall(bytes[] data)"),
};
const selectors = Object.entries(functions).map(([name, item]) => [AbiFunction.getSelector(item), name] as const);
const nameOf = new Map<string, string>(selectors);

/** Adds a deposit to a channel. */
export function addDeposit(id: Hex, amount: bigint, state: MutableChannels): void {
  change(id, ({ balance }) => ({ balance: balance + amount }), state);
}

function change(id: Hex, to: (before: ChannelOnChain) => Partial<ChannelOnChain>, state: MutableChannels): void {
  const channelsBefore = state.channels.get(id) ?? unknown;
  state.channels = new Map(state.channels).set(id, { ...channelsBefore, ...to(channelsBefore) });
}

/** Executes a seller's call as the channels' contract does; undefined if it reverts, after which the state must be discarded. */
export function executeChannelCall(data: Hex, chain: number, state: MutableChannels): readonly Payout[] | undefined {
  switch (nameOf.get(data.slice(0, 10))) {
    case "claim":
      return executeClaims(data, chain, state) ? [] : undefined;
    case "settle": {
      const { claimed, settled } = state.payee;
      const [to] = AbiFunction.decodeData(functions.settle, data);
      state.payee = { claimed, settled: claimed };
      return claimed > settled ? [{ to, amount: claimed - settled }] : [];
    }
    case "refund":
      return executeRefund(data, chain, state);
    case "multicall": {
      const [calls] = AbiFunction.decodeData(functions.multicall, data);
      const payouts = calls.map((call) => executeChannelCall(call, chain, state));
      return payouts.includes(undefined) ? undefined : payouts.flatMap((each) => each ?? []);
    }
    default:
      return undefined;
  }
}

function executeClaims(data: Hex, chain: number, state: MutableChannels): boolean {
  const [claims, signature] = AbiFunction.decodeData(functions.claim, data) as readonly [readonly Claim[], Hex];
  const [first] = claims;
  if (first === undefined) return false;
  if (!isAuthorized(first.voucher.channel, computeClaimsDigest(claims, chain), signature)) return false;
  return claims.every(({ voucher: { channel, maxClaimableAmount: max }, signature: signed, totalClaimed }) => {
    const id = computeChannelId(channel, chain);
    const { balance, totalClaimed: before } = state.channels.get(id) ?? unknown;
    const voucher = findVoucher(id, max);
    const isConfirmed = voucher?.signature === signed && !state.rejecting.has(channel.payer.slice(2).toLowerCase());
    if (!isConfirmed || totalClaimed > max || totalClaimed > balance) return false;
    if (totalClaimed <= before) return true;
    change(id, () => ({ totalClaimed }), state);
    state.payee = { ...state.payee, claimed: state.payee.claimed + totalClaimed - before };
    return true;
  });
}

function executeRefund(data: Hex, chain: number, state: MutableChannels): readonly Payout[] | undefined {
  const [channel, asked, nonce, signature] = AbiFunction.decodeData(functions.refund, data);
  const id = computeChannelId(channel, chain);
  const { balance, totalClaimed, refundNonce } = state.channels.get(id) ?? unknown;
  if (nonce !== refundNonce || !isAuthorized(channel, computeRefundDigest(id, nonce, asked, chain), signature))
    return undefined;
  const left = balance - totalClaimed;
  const amount = asked < left ? asked : left;
  if (amount === 0n) return undefined;
  change(id, () => ({ balance: balance - amount, refundNonce: nonce + 1n }), state);
  return [{ to: channel.payer, amount }];
}

function isAuthorized(
  { receiverAuthorizer }: Pick<ChannelConfig, "receiverAuthorizer">,
  digest: Uint8Array,
  text: Hex,
): boolean {
  const signature = parseSignature(text);
  return signature !== undefined && isSignedBy(receiverAuthorizer, digest, signature);
}

const views: Readonly<Record<string, (state: ChannelsState, channel: ChannelOnChain) => readonly bigint[]>> = {
  [computeSelector("channels(bytes32)")]: (_, { balance, totalClaimed }) => [balance, totalClaimed],
  [computeSelector("pendingWithdrawals(bytes32)")]: () => [0n, 0n],
  [computeSelector("refundNonce(bytes32)")]: (_, { refundNonce }) => [refundNonce],
  [computeSelector("receivers(address,address)")]: ({ payee }) => [payee.claimed, payee.settled],
};

/** Executes a view of the channels' contract; undefined if the call isn't one. */
export function readChannelView(to: string, data: Hex, state: ChannelsState): Hex | undefined {
  const view = isSameHex(to, channelsAddress) ? views[data.slice(0, 10)] : undefined;
  return (
    view &&
    `0x${view(state, state.channels.get(`0x${data.slice(10, 74)}`) ?? unknown)
      .map(encodeInteger)
      .join("")}`
  );
}
