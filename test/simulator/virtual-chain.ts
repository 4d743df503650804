import * as Hash from "ox/Hash";
import * as TxEnvelopeEip1559 from "ox/TxEnvelopeEip1559";
import type { EventLog } from "#facilitator/chain/chain.ts";
import {
  authorizationCanceledTopic,
  authorizationUsedTopic,
  encodeAddressTopic,
  transferTopic,
} from "#facilitator/chain/token.ts";
import { encodeInteger, type Hex } from "#x402/hex.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Transaction of the facilitator's signer, with its raw bytes, or one that somebody else sends to the token. */
export type Transaction = Readonly<{
  hash: Hex;
  nonce: number;
  data: Hex;
  gas: bigint;
  maxFee: bigint;
  tip: bigint;
  isForeign: boolean;
}>;

/** Receipt in the form of JSON-RPC. */
type Receipt = Readonly<{
  status: Hex;
  blockNumber: Hex;
  transactionHash: Hex;
  gasUsed: Hex;
  effectiveGasPrice: Hex;
  logs: readonly EventLog[];
}>;

/** State after a block. */
type State = Readonly<{
  nextNonce: number;
  /** Of the token, by address. */
  balances: ReadonlyMap<string, bigint>;
  /** Used or cancelled authorizations, by payer and nonce, with the transaction that did it. */
  used: ReadonlyMap<string, Hex>;
}>;

export type Block = Readonly<{
  number: number;
  timestamp: number;
  baseFee: bigint;
  state: State;
  included: readonly Readonly<{ transaction: Transaction; receipt: Receipt; revert: Revert | undefined }>[];
}>;

/** Why the token refused a transfer. */
export type Revert = "time" | "used" | "balance" | "gas" | "unknown";

/** Arguments of `transferWithAuthorization`. */
export type TransferCall = Readonly<{
  from: string;
  to: string;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}>;

export type VirtualChain = Readonly<{
  /** Blocks of the canonical chain, the oldest first. */
  blocks: Block[];
  head: () => Block;
  pool: Map<number, Transaction>;
  /** Transactions that the facilitator ever sent to a node, by hash. */
  sent: Map<Hex, Transaction>;
  decode: (raw: Hex) => Transaction;
  mine: (inclusion: number) => void;
  /** Replaces the newest blocks by one block more; what they included goes back to the pool, or is lost with this probability. */
  reorganise: (depth: number, lossRate: number) => void;
  /** Lets somebody else's transaction into the next block, before all others. */
  sendForeign: (data: Hex) => void;
  /** Executes a call in the state after a block. */
  simulate: (data: Hex, gas: bigint, block: Block) => Revert | undefined;
}>;

export const transferSelector = "0xe3ee160e";
export const cancelSelector = "0x5a049a70";
export const drainSelector = "0xa9059cbb";
const gwei = 1_000_000_000n;
const usualGas = 65_000n;
const word = (data: Hex, index: number) => data.slice(10 + 64 * index, 74 + 64 * index);

/** Gas of a call. Some transfers need more in their block than a node estimates before. */
const computeGas = (data: Hex) => (Number.parseInt(data.slice(-1), 16) % 4 === 0 ? 2n : 1n) * usualGas;

/** Reads the arguments of a transfer. */
export function readTransferCall(data: Hex): TransferCall {
  const number = (index: number) => BigInt(`0x${word(data, index)}`);
  return {
    from: word(data, 0).slice(24),
    to: word(data, 1).slice(24),
    value: number(2),
    validAfter: number(3),
    validBefore: number(4),
    nonce: `0x${word(data, 5)}`,
  };
}

const readCancelCall = (data: Hex) => ({ from: word(data, 0).slice(24), nonce: `0x${word(data, 1)}` as const });

/** Names an authorization, as `used` does. */
export const nameAuthorization = ({ from, nonce }: Readonly<{ from: string; nonce: Hex }>) => `${from} ${nonce}`;

/** Names a payment: of several with the same authorization nonce, one can be charged. */
export const namePayment = ({
  validBefore,
  ...of
}: Readonly<{ from: string; nonce: Hex; validBefore: bigint | number | string }>) =>
  `${nameAuthorization(of)} ${validBefore}`;

export type ChainOptions = Readonly<{
  time: VirtualTime;
  asset: Hex;
  balances: ReadonlyMap<string, bigint>;
  /** Whether the gas price moves, up to what the facilitator pays at most and beyond. */
  hasFeeSpikes: boolean;
}>;

/** Creates a chain with one block. Its token is an EIP-3009 token; signatures are not checked, because only good ones are sent. */
export function createVirtualChain({ time, asset, balances, hasFeeSpikes }: ChainOptions): VirtualChain {
  const genesis = { number: 1, timestamp: Math.floor(time.nowMs() / 1_000), baseFee: gwei };
  const blocks: Block[] = [{ ...genesis, state: { nextNonce: 0, balances, used: new Map() }, included: [] }];
  const pool = new Map<number, Transaction>();
  const sent = new Map<Hex, Transaction>();
  const decoded = new Map<Hex, Transaction>();
  let foreign: Transaction[] = [];
  let foreignCount = 0;
  const head = () => blocks.at(-1) as Block;

  const judge = (data: Hex, gas: bigint, { timestamp, state }: Pick<Block, "timestamp" | "state">) => {
    if (data.startsWith(drainSelector)) return undefined;
    if (data.startsWith(cancelSelector))
      return state.used.has(nameAuthorization(readCancelCall(data))) ? "used" : undefined;
    if (!data.startsWith(transferSelector)) return "unknown";
    const call = readTransferCall(data);
    if (BigInt(timestamp) >= call.validBefore || BigInt(timestamp) <= call.validAfter) return "time";
    if (state.used.has(nameAuthorization(call))) return "used";
    if ((state.balances.get(call.from) ?? 0n) < call.value) return "balance";
    return gas < computeGas(data) ? "gas" : undefined;
  };

  const nextBaseFee = (before: bigint): bigint => {
    if (!hasFeeSpikes) return before;
    const price = BigInt(Math.floor(Number(before) * time.between(0.6, 1.6)));
    if (time.chance(0.05)) return 600n * gwei;
    return price < gwei ? gwei : price > 100n * gwei ? 20n * gwei : price;
  };

  const mine: VirtualChain["mine"] = (inclusion) => {
    const before = head();
    const timestamp = Math.max(Math.floor(time.nowMs() / 1_000), before.timestamp + 1);
    const number = before.number + 1;
    const baseFee = nextBaseFee(before.baseFee);
    const state = { nextNonce: before.state.nextNonce, balances: before.state.balances, used: before.state.used };
    const included: Block["included"][number][] = [];
    const include = (transaction: Transaction) => {
      const revert = judge(transaction.data, transaction.gas, { timestamp, state });
      const logs = revert === undefined ? execute(transaction, asset, state) : [];
      const used = revert === "gas" ? transaction.gas : computeGas(transaction.data);
      const receipt: Receipt = {
        status: revert === undefined ? "0x1" : "0x0",
        blockNumber: `0x${number.toString(16)}`,
        transactionHash: transaction.hash,
        gasUsed: `0x${used.toString(16)}`,
        effectiveGasPrice: `0x${(baseFee + transaction.tip).toString(16)}`,
        logs,
      };
      included.push({ transaction, receipt, revert });
    };
    for (const transaction of foreign) include(transaction);
    foreign = [];
    for (let next = pool.get(state.nextNonce); next !== undefined; next = pool.get(state.nextNonce)) {
      if (next.maxFee < baseFee || !time.chance(inclusion)) break;
      pool.delete(state.nextNonce);
      state.nextNonce += 1;
      include(next);
    }
    blocks.push({ number, timestamp, baseFee, state, included });
  };

  return {
    blocks,
    head,
    pool,
    sent,
    mine,
    decode: (raw) => {
      const known = decoded.get(raw);
      if (known !== undefined) return known;
      const { nonce = 0n, data = "0x", gas = 0n, ...fees } = TxEnvelopeEip1559.deserialize(raw as `0x02${string}`);
      const { maxFeePerGas: maxFee = 0n, maxPriorityFeePerGas: tip = 0n } = fees;
      const read = { hash: Hash.keccak256(raw), nonce: Number(nonce), data, gas, maxFee, tip, isForeign: false };
      decoded.set(raw, read);
      return read;
    },
    reorganise: (depth, lossRate) => {
      const kept = Math.max(1, blocks.length - depth);
      const dropped = blocks.splice(kept);
      for (const { transaction } of dropped.flatMap(({ included }) => included)) {
        if (transaction.isForeign) foreign.push(transaction);
        else if (!time.chance(lossRate)) pool.set(transaction.nonce, transaction);
      }
      for (let block = 0; block <= dropped.length; block += 1) mine(0.5);
    },
    sendForeign: (data) => {
      const hash: Hex = `0x${(foreignCount += 1).toString(16).padStart(64, "f")}`;
      foreign.push({ hash, nonce: 0, data, gas: 1_000_000n, maxFee: 0n, tip: 0n, isForeign: true });
    },
    simulate: (data, gas, block) =>
      judge(data, gas, { timestamp: Math.max(Math.floor(time.nowMs() / 1_000), block.timestamp), state: block.state }),
  };
}

/** Executes a call that the token accepts, and returns its events. */
function execute(
  { hash, data }: Transaction,
  asset: Hex,
  state: { -readonly [Field in keyof State]: State[Field] },
): readonly EventLog[] {
  const balances = new Map(state.balances);
  state.balances = balances;
  const move = (from: string, to: string, value: bigint): EventLog => {
    balances.set(from, (balances.get(from) ?? 0n) - value);
    balances.set(to, (balances.get(to) ?? 0n) + value);
    const topics = [transferTopic, encodeAddressTopic(`0x${from}`), encodeAddressTopic(`0x${to}`)];
    return { address: asset, topics, data: `0x${encodeInteger(value)}` };
  };
  // The owner's own move of all that it has; its call data names the owner, where a real one has the recipient.
  if (data.startsWith(drainSelector)) {
    const owner = word(data, 0).slice(24);
    return [move(owner, "dead".padStart(40, "0"), balances.get(owner) ?? 0n)];
  }
  const isTransfer = data.startsWith(transferSelector);
  const { from, nonce } = isTransfer ? readTransferCall(data) : readCancelCall(data);
  state.used = new Map(state.used).set(nameAuthorization({ from, nonce }), hash);
  const mark = (topic: Hex): EventLog => ({
    address: asset,
    topics: [topic, encodeAddressTopic(`0x${from}`), nonce],
    data: "0x",
  });
  if (!isTransfer) return [mark(authorizationCanceledTopic)];
  const { to, value } = readTransferCall(data);
  return [mark(authorizationUsedTopic), move(from, to, value)];
}
