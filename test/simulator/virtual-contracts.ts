import * as AbiFunction from "ox/AbiFunction";
import type { ContractLog } from "#facilitator/chain/chain.ts";
import { authorizationUsedTopic, transferTopic } from "#facilitator/chain/token.ts";
import { encodeInteger, isSameHex, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import { channelsAddress } from "#x402/batch-settlement/channel.ts";
import { multicall3Address, type ContractCall } from "#x402/wallet-signature.ts";
import { findCalled, type PaymentCall, type SignedOffer } from "./signed-offers.ts";
import { addDeposit, executeChannelCall, type ChannelsState } from "./virtual-channels.ts";
import { signers, token } from "./wallets.ts";

/** State of the chain after a block, without its accounts' nonces. Accounts are addresses without prefix. */
export type TokenState = ChannelsState &
  Readonly<{
    balances: ReadonlyMap<string, bigint>;
    /** Amounts that Permit2 may transfer. */
    allowances: ReadonlyMap<string, bigint>;
    /** Next nonce of an account's signed approvals. */
    approvals: ReadonlyMap<string, number>;
    /** Used or cancelled nonces, as {@link nameNonce} names them. */
    used: ReadonlySet<string>;
    /** Whether transfers succeed without moving or logging anything. */
    isSilent: boolean;
  }>;

/** Why a contract reverted a call. */
export type Revert =
  | "time"
  | "used"
  | "balance"
  | "allowance"
  | "amount"
  | "sender"
  | "signature"
  | "gas"
  | "together"
  | "channel"
  | "silent"
  | "unknown";

/** Result of a call, and of its inner calls. */
export type ExecutionResult = Readonly<{
  revert: Revert | undefined;
  logs: readonly ContractLog[];
  gas: bigint;
  calls: readonly Readonly<{ call: ContractCall; revert: Revert | undefined }>[];
}>;

export type Surroundings = Readonly<{
  chain: number;
  timestamp: number;
  from: Hex;
  /** Whether calls use as much gas as in a block, where some use more than a node estimates. */
  isInBlock: boolean;
}>;

export type MutableState = { -readonly [Field in keyof TokenState]: TokenState[Field] };

/** Action of an account on its own tokens, without a signed payment. */
export type Act = (state: MutableState) => readonly ContractLog[];

const usualGas = 65_000n;
/** Gas of a transaction, without its calls. */
const batchGas = 30_000n;

const aggregate3 = AbiFunction.from(
  "function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[] results)",
);
type BatchedCall = Readonly<{ call: ContractCall; mayFail: boolean }>;
const batches = new Map<Hex, readonly BatchedCall[]>();
const batchesMax = 1_000;

const usesPermit2 = ({ method }: Pick<SignedOffer["signing"], "method">) => method === "permit2" || method === "upto";
export const digitsOf = (address: Hex) => address.slice(2).toLowerCase();

/** Names a nonce; tokens and Permit2 each have their own. */
export const nameNonce = ({ signing, from, nonce }: SignedOffer) =>
  `${usesPermit2(signing) ? "Permit2" : "token"} ${from} ${nonce}`;

/** Returns whether a contract is Multicall3. */
export const isMulticall = (contract: string) => isSameHex(contract, multicall3Address);

/** Lists a transaction's calls; for Multicall3, those within its call. */
export function listCalls({ to, data }: ContractCall): readonly ContractCall[] {
  return isMulticall(to) ? readBatch(data).map(({ call }) => call) : [{ to, data }];
}

/** Names the payment that a call executes. */
export const nameCalled = (call: ContractCall): string | undefined => findCalled(call)?.offer.name;

function readBatch(data: Hex): readonly BatchedCall[] {
  const read = () =>
    AbiFunction.decodeData(aggregate3, data)[0].map(({ target, allowFailure, callData }) => ({
      call: { to: target, data: callData },
      mayFail: allowFailure,
    }));
  const calls = batches.get(data) ?? read();
  if (batches.size > batchesMax) batches.clear();
  batches.set(data, calls);
  return calls;
}

/** Executes a transaction's call; a failed call changes nothing. */
export function execute(
  call: ContractCall,
  gas: bigint,
  state: MutableState,
  surroundings: Surroundings,
): ExecutionResult {
  if (!isMulticall(call.to)) return executeAlone(call, gas, state, surroundings);
  const stateBefore = { ...state };
  let left = gas - batchGas;
  const ends = readBatch(call.data).map(({ call: inner, mayFail }) => {
    const end = executeAlone(inner, left, state, { ...surroundings, from: multicall3Address });
    left -= end.gas;
    return { ...end, call: inner, mayFail, failed: end.calls[0]?.revert };
  });
  const used = gas - left;
  const revert = ends.find((end) => end.revert !== undefined && !end.mayFail)?.revert;
  const calls = ends.map((end) => ({ call: end.call, revert: end.failed }));
  if (revert === undefined) return { revert, gas: used, calls, logs: ends.flatMap(({ logs }) => logs) };
  Object.assign(state, stateBefore);
  const undone = ends.map((end) => ({ call: end.call, revert: end.revert ?? ("together" as const) }));
  return { revert, gas: used, calls: undone, logs: [] };
}

/** Encodes Multicall3's return value. */
export function encodeResults({ calls }: ExecutionResult): Hex {
  return AbiFunction.encodeResult(
    aggregate3,
    calls.map(({ revert }) => ({ success: revert === undefined, returnData: "0x" as const })),
  );
}

function executeAlone(
  call: ContractCall,
  gas: bigint,
  state: MutableState,
  surroundings: Surroundings,
): ExecutionResult {
  const paying = findCalled(call);
  const isDear = surroundings.isInBlock && (paying?.offer.signing.number ?? 1) % 4 === 0;
  const needed = (isDear ? 2n : 1n) * usualGas;
  const after = { ...state };
  // Transfers lack their effect only in a block, so that simulations don't reveal this.
  const isSilent = state.isSilent && paying !== undefined && surroundings.isInBlock;
  const end = paying === undefined ? runForSeller(call, after, surroundings) : pay(paying, after, surroundings);
  const revert = typeof end === "string" ? end : gas < needed ? "gas" : undefined;
  const isMade = revert === undefined && !isSilent;
  if (isMade) Object.assign(state, after);
  const logs = isMade && typeof end !== "string" ? end : [];
  const calls = [{ call, revert: revert ?? (isSilent ? ("silent" as const) : undefined) }];
  return { revert, logs, gas: revert === "gas" ? gas : needed, calls };
}

/** Executes a seller's channel calls. */
function runForSeller(
  { to, data }: ContractCall,
  state: MutableState,
  { chain }: Surroundings,
): Revert | readonly ContractLog[] {
  if (!isSameHex(to, channelsAddress)) return "unknown";
  const payouts = executeChannelCall(data, chain, state);
  return (
    payouts?.map((payout) => move(digitsOf(channelsAddress), digitsOf(payout.to), payout.amount, state)) ?? "channel"
  );
}

/** Executes a signed payment as its contract does, and returns its events or why it reverts. */
function pay(
  { offer, amount }: PaymentCall,
  state: MutableState,
  { chain, timestamp, from: sender }: Surroundings,
): Revert | readonly ContractLog[] {
  const { signing, from, to, value, nonce, validBefore } = offer;
  const { method, approval, facilitator } = signing;
  const isByPermit2 = usesPermit2(signing);
  if (amount > value || amount === 0n) return "amount";
  if (method === "upto" && !isSameHex(sender, signers[facilitator]?.address)) return "sender";
  // A failed approval does not fail the payment.
  if (approval !== undefined) approve(offer)(state);
  if (timestamp >= validBefore + (isByPermit2 ? 1 : 0)) return "time";
  if (state.used.has(nameNonce(offer))) return "used";
  if (!isConfirmed(offer, state) || signing.chain !== chain) return "signature";
  if ((state.balances.get(from) ?? 0n) < amount) return "balance";
  const allowedAllowances = state.allowances.get(from) ?? 0n;
  if (isByPermit2 && allowedAllowances < amount) return "allowance";
  state.used = new Set(state.used).add(nameNonce(offer));
  if (isByPermit2) {
    state.allowances = new Map(state.allowances).set(from, allowedAllowances - amount);
    return [move(from, digitsOf(to), amount, state)];
  }
  if (offer.channel !== undefined) addDeposit(offer.channel.id, amount, state);
  return [markNonce(authorizationUsedTopic, from, nonce), move(from, digitsOf(to), amount, state)];
}

/** Returns whether the payer's key, or its contract, confirms the signature of a payment. */
export const isConfirmed = ({ from, signing }: SignedOffer, { rejecting }: Pick<TokenState, "rejecting">): boolean =>
  signing.flaw !== "signature" && !rejecting.has(from);

export const markNonce = (topic: Hex, from: string, nonce: Hex): ContractLog => ({
  address: token.address,
  topics: [topic, encodeAddressTopic(`0x${from}`), nonce],
  data: "0x",
});

export function move(from: string, to: string, value: bigint, state: MutableState): ContractLog {
  const balances = new Map(state.balances);
  balances.set(from, (balances.get(from) ?? 0n) - value);
  balances.set(to, (balances.get(to) ?? 0n) + value);
  state.balances = balances;
  const topics = [transferTopic, encodeAddressTopic(`0x${from}`), encodeAddressTopic(`0x${to}`)];
  return { address: token.address, topics, data: `0x${encodeInteger(value)}` };
}

/** Executes a payment's signed Permit2 approval. */
export function approve({ from, value, signing: { approval } }: SignedOffer): Act {
  return (state) => {
    const next = state.approvals.get(from) ?? 0;
    if (next !== approval) return [];
    state.approvals = new Map(state.approvals).set(from, next + 1);
    state.allowances = new Map(state.allowances).set(from, value);
    return [];
  };
}
