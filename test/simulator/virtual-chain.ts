import * as Hash from "ox/Hash";
import * as TxEnvelopeEip1559 from "ox/TxEnvelopeEip1559";
import secp256k1 from "secp256k1";
import type { ContractLog } from "#facilitator/chain/chain.ts";
import { computeAddress } from "#facilitator/chain/transaction-signer.ts";
import { encodeInteger, type Hex } from "#x402/hex.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import { allowances, balances, token } from "./wallets.ts";
import {
  execute,
  nameCalled,
  type Act,
  type ExecutionResult,
  type Revert,
  type TokenState,
} from "./virtual-contracts.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Transaction of one of the facilitator's signers, or a third party's action. */
export type Transaction = Readonly<{
  hash: Hex;
  from: Hex;
  /** Nonce; negative for third parties' transactions. */
  nonce: number;
  to: Hex;
  data: Hex;
  gas: bigint;
  maxFee: bigint;
  tip: bigint;
  /** Whether someone other than the facilitator sent it. */
  isForeign: boolean;
  /** Action that replaces its call. */
  act?: Act | undefined;
}>;

/** Names a transaction's slot (account and nonce). */
export const nameSlot = ({ from, nonce }: Pick<Transaction, "from" | "nonce">) => `${from} ${nonce}`;

/** Receipt in JSON-RPC format. */
type Receipt = Readonly<{
  status: Hex;
  blockNumber: Hex;
  transactionHash: Hex;
  gasUsed: Hex;
  effectiveGasPrice: Hex;
  logs: readonly ContractLog[];
}>;

/** State after a block. */
type State = TokenState & Readonly<{ nextNonces: ReadonlyMap<Hex, number> }>;

/** Transaction in a block, and the results of its calls. */
export type IncludedTransaction = Pick<ExecutionResult, "calls"> &
  Readonly<{ transaction: Transaction; receipt: Receipt; revert: Revert | undefined }>;

export type Block = Readonly<{
  number: number;
  timestamp: number;
  baseFee: bigint;
  state: State;
  included: readonly IncludedTransaction[];
}>;

export type VirtualChain = Readonly<{
  id: number;
  /** Blocks of the canonical chain, the oldest first. */
  blocks: Block[];
  head: () => Block;
  /** By {@link nameSlot}. */
  pool: Map<string, Transaction>;
  /** All transactions that the facilitator has sent to a node, by hash. */
  sent: Map<Hex, Transaction>;
  decode: (raw: Hex) => Transaction;
  /** Accounts without gas. */
  broke: Set<Hex>;
  /** Names of payments whose transactions a reorg replaced although they had their confirmations. */
  undone: Set<string>;
  mine: (inclusion: number) => void;
  /**
   * Replaces the latest blocks, adding one; their transactions return to the pool, or are lost with this probability.
   * Blocks deeper than `depthMax` had their confirmations.
   */
  reorganize: (depth: number, reorg: Readonly<{ depthMax: number; lossRate: number }>) => void;
  /** Makes a third party call a contract, or act on its own tokens, in the next block, before all others. */
  sendForeign: (what: ContractCall | Act) => void;
  /** Executes a call in the state after a block. */
  simulate: (call: ContractCall & Readonly<{ from?: Hex }>, gas: bigint, block: Block) => ExecutionResult;
}>;

/** Chains of a run, by their ids. */
export type VirtualChains = ReadonlyMap<number, VirtualChain>;

export function getChain(chains: VirtualChains, id: number): VirtualChain {
  const chain = chains.get(id);
  if (chain === undefined) throw new RangeError(`there is no chain ${id}`);
  return chain;
}

const gwei = 1_000_000_000n;

export type ChainOptions = Readonly<{
  id: number;
  time: VirtualTime;
  /** Whether the gas price varies, up to and beyond the facilitator's max. */
  hasFeeSpikes: boolean;
}>;

/** A third party's address. */
const nobody: Hex = `0x${"ff".repeat(20)}`;

/** Creates a chain with one block, a token, Permit2, its proxies and Multicall3. */
export function createVirtualChain({ id, time, hasFeeSpikes }: ChainOptions): VirtualChain {
  const genesis = { number: 1, timestamp: Math.floor(time.nowMs() / 1_000), baseFee: gwei };
  const empty = {
    nextNonces: new Map(),
    approvals: new Map(),
    used: new Set<string>(),
    rejecting: new Set<string>(),
    isSilent: false,
  };
  const first = { ...empty, balances, allowances, channels: new Map(), payee: { claimed: 0n, settled: 0n } };
  const blocks: Block[] = [{ ...genesis, state: first, included: [] }];
  const pool = new Map<string, Transaction>();
  const broke = new Set<Hex>();
  const undone = new Set<string>();
  const sent = new Map<Hex, Transaction>();
  const decoded = new Map<Hex, Transaction>();
  let foreign: Transaction[] = [];
  let foreignCount = 0;
  const head = () => blocks.at(-1) as Block;

  const nextBaseFee = (before: bigint): bigint => {
    if (!hasFeeSpikes) return before;
    const price = BigInt(Math.floor(Number(before) * time.between(0.6, 1.6)));
    if (time.chance(0.05)) return 600n * gwei;
    return price < gwei ? gwei : price > 100n * gwei ? 20n * gwei : price;
  };

  const mine: VirtualChain["mine"] = (inclusion) => {
    const headBefore = head();
    const timestamp = Math.max(Math.floor(time.nowMs() / 1_000), headBefore.timestamp + 1);
    const number = headBefore.number + 1;
    const baseFee = nextBaseFee(headBefore.baseFee);
    const nextNonces = new Map(headBefore.state.nextNonces);
    const state = { ...headBefore.state, nextNonces };
    const included: IncludedTransaction[] = [];
    const include = (transaction: Transaction) => {
      const { hash, from, gas, tip, act } = transaction;
      const done =
        act === undefined
          ? execute(transaction, gas, state, { chain: id, timestamp, from, isInBlock: true })
          : { revert: undefined, gas: 21_000n, calls: [], logs: act(state) };
      const receipt: Receipt = {
        status: done.revert === undefined ? "0x1" : "0x0",
        blockNumber: `0x${number.toString(16)}`,
        transactionHash: hash,
        gasUsed: `0x${done.gas.toString(16)}`,
        effectiveGasPrice: `0x${(baseFee + tip).toString(16)}`,
        logs: done.logs,
      };
      included.push({ transaction, receipt, revert: done.revert, calls: done.calls });
    };
    for (const transaction of foreign) include(transaction);
    foreign = [];
    const isMinable = ({ from, nonce, maxFee }: Transaction) =>
      nonce === (nextNonces.get(from) ?? 0) && maxFee >= baseFee && !broke.has(from);
    const choose = () => time.pick([...pool.values()].filter(isMinable));
    for (let next = choose(); next !== undefined && time.chance(inclusion); next = choose()) {
      pool.delete(nameSlot(next));
      nextNonces.set(next.from, next.nonce + 1);
      include(next);
    }
    blocks.push({ number, timestamp, baseFee, state, included });
  };

  return {
    blocks,
    head,
    id,
    pool,
    sent,
    broke,
    undone,
    mine,
    decode: (raw) => {
      const known = decoded.get(raw);
      if (known !== undefined) return known;
      const envelope = TxEnvelopeEip1559.deserialize(raw as `0x02${string}`);
      const { to, nonce = 0n, data = "0x", gas = 0n, chainId, ...fees } = envelope;
      if (to === undefined || to === null) throw new TypeError("a transaction that creates a contract");
      if (chainId !== id) throw new TypeError("a transaction for another chain");
      const { maxFeePerGas: maxFee = 0n, maxPriorityFeePerGas: tip = 0n } = fees;
      const [hash, from] = [Hash.keccak256(raw), recoverSender(envelope)];
      const read = { hash, from, nonce: Number(nonce), to, data, gas, maxFee, tip, isForeign: false };
      decoded.set(raw, read);
      return read;
    },
    reorganize: (depth, { depthMax, lossRate }) => {
      const confirmedBlocks = blocks.slice(0, Math.max(1, blocks.length - depthMax));
      const kept = Math.max(1, blocks.length - depth);
      for (const { calls } of confirmedBlocks.slice(kept).flatMap(({ included }) => included))
        for (const { call } of calls) undone.add(nameCalled(call) ?? "");
      const dropped = blocks.splice(kept);
      const transactions = dropped.flatMap(({ included }) => included.map(({ transaction }) => transaction));
      foreign = [...transactions.filter(({ nonce }) => nonce < 0), ...foreign];
      for (const transaction of transactions)
        if (transaction.nonce >= 0 && !time.chance(lossRate)) pool.set(nameSlot(transaction), transaction);
      for (let block = 0; block <= dropped.length; block += 1) mine(0.5);
    },
    sendForeign: (what) => {
      const hash: Hex = `0x${(foreignCount += 1).toString(16).padStart(64, "f")}`;
      const [call, act] = typeof what === "function" ? [{ to: token.address, data: "0x" } as const, what] : [what];
      foreign.push({
        hash,
        from: nobody,
        nonce: -1,
        ...call,
        gas: 1_000_000n,
        maxFee: 0n,
        tip: 0n,
        isForeign: true,
        act,
      });
    },
    simulate: ({ from = nobody, ...call }, gas, block) => {
      const timestamp = Math.max(Math.floor(time.nowMs() / 1_000), block.timestamp);
      return execute(call, gas, { ...block.state }, { chain: id, timestamp, from, isInBlock: false });
    },
  };
}

function recoverSender(envelope: TxEnvelopeEip1559.TxEnvelopeEip1559): Hex {
  const { r = 0n, s = 0n, yParity = 0, ...unsigned } = envelope;
  const signature = Buffer.from(`${encodeInteger(BigInt(r))}${encodeInteger(BigInt(s))}`, "hex");
  const digest = Buffer.from(TxEnvelopeEip1559.getSignPayload(TxEnvelopeEip1559.from(unsigned)).slice(2), "hex");
  return computeAddress(secp256k1.ecdsaRecover(signature, yParity, digest, false));
}
