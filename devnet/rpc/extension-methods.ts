import type { Hex } from "viem";
import type { Anvil } from "../anvil/anvil.ts";
import { findProposer, validatorAddresses } from "../anvil/validators.ts";
import type { RawBlock, RawReceipt } from "./raw-encoding.ts";
import { errorCode, RpcError } from "./rpc-error.ts";

export type Node = Readonly<{
  anvil: Pick<Anvil, "request">;
  /** The node's version, e.g. `0.16.2`. */
  version: string;
  /** Result of `web3_clientVersion`. */
  clientVersion: string;
  /** Commit of its programs, which some families report instead of the version. */
  commit?: string | undefined;
}>;

/** Handles one call; throws {@link RpcError} or the chain's own error. */
export type Method = (params: readonly unknown[]) => Promise<unknown>;

/** A block as the chain returns it, with transaction hashes. */
type Block = RawBlock & Readonly<{ transactions: readonly Hex[] }>;

/** Accounts by address, with the fields that a block's transactions read or wrote. */
type BlockState = Readonly<Record<string, Readonly<{ storage?: Readonly<Record<string, Hex>> }>>>;

/**
 * Creates the methods that anvil lacks: the specification's additions to Ethereum's methods, and those that return RLP. The specification
 * doesn't show the fields of the additions' objects, so they are devnet values.
 */
export function createExtensionMethods(node: Node): Readonly<Record<string, Method>> {
  const { anvil, version, commit } = node;
  return {
    eth_getProposerByTxHash: async ([transactionHash]) => {
      const receipt = await anvil.request<{ blockHash: Hex } | null>("eth_getTransactionReceipt", [transactionHash]);
      if (receipt === null) return null;
      const block = await readBlock(node, receipt.blockHash);
      return { transactionHash, ...identify(block), proposer: block.miner };
    },
    eth_getProposersByBlockNumber: async ([id]) => {
      const { number, miner } = await readBlock(node, id);
      return Number(number) === 0 ? [] : [miner];
    },
    debug_getValidatorInfo: async ([id = "latest"]) => {
      const block = await readBlock(node, id);
      const validators = validatorAddresses.map((address) => ({ address, votingPower: "0x1" }));
      return { ...identify(block), nextProposer: findProposer(Number(block.number) + 1), validators };
    },
    debug_getBlockProof: async ([id]) => {
      const block = await readBlock(node, id);
      // Bytes with the lengths of a BLS12-381 key and signature; nothing verifies them.
      const signers = validatorAddresses.slice(0, 3).map((address) => address.padEnd(98, "0"));
      return { ...identify(block), signers, aggregateSignature: `0x${block.hash.slice(2).repeat(3)}` };
    },
    debug_getBlockReadStates: async ([id]) => {
      const block = await readBlock(node, id);
      // The first transaction that read an account saw its state from before the block.
      const states = await runTracer<BlockState>(node, block, {});
      return { ...identify(block), states: Object.assign({}, ...states.toReversed()) };
    },
    debug_getBlockWriteStates: async ([id]) => {
      const block = await readBlock(node, id);
      return { ...identify(block), states: await readSavedStates(node, block) };
    },
    debug_getBlockWriteSetKeys: async ([id]) => {
      const states = await readSavedStates(node, await readBlock(node, id));
      return Object.entries(states).flatMap(([address, { storage = {} }]) =>
        [address].concat(Object.keys(storage).map((slot) => `${address}${slot.slice(2)}`)),
      );
    },
    debug_protocolVersion: async () => {
      const one = commit === undefined ? 1 : "0x1";
      return {
        binaryVersion: commit ?? version,
        currentSpecVersion: one,
        currentStableBlock: (await readBlock(node, "finalized")).number,
        higherSpecVersions: [],
        protocolVersion: one,
      };
    },
    // The encoding is loaded on first use, to keep the node's start fast.
    debug_getRawHeader: async ([id]) => (await import("./raw-encoding.ts")).encodeHeader(await readBlock(node, id)),
    debug_getRawBlock: async ([id]) => {
      const block = await readBlock(node, id);
      const transactions = block.transactions.map((hash) => anvil.request<Hex>("debug_getRawTransaction", [hash]));
      return (await import("./raw-encoding.ts")).encodeBlock(block, await Promise.all(transactions));
    },
    debug_getRawReceipts: async ([id]) => {
      await readBlock(node, id);
      const receipts = await anvil.request<readonly RawReceipt[] | null>("eth_getBlockReceipts", [id]);
      return (receipts ?? []).map((await import("./raw-encoding.ts")).encodeReceipt);
    },
  };
}

async function readBlock({ anvil }: Node, id: unknown): Promise<Block> {
  const method = String(id).length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const block = await anvil.request<Block | null>(method, [id, false]);
  if (block === null) throw new RpcError(errorCode.server, "header not found");
  return block;
}

function identify({ number, hash }: Block) {
  return { blockNumber: number, blockHash: hash };
}

async function readSavedStates(node: Node, block: Block): Promise<BlockState> {
  const changes = await runTracer<{ post: BlockState }>(node, block, { diffMode: true });
  return Object.assign({}, ...changes.map(({ post }) => post)) as BlockState;
}

function runTracer<T>({ anvil }: Node, { transactions }: Block, tracerConfig: object): Promise<readonly T[]> {
  const options = { tracer: "prestateTracer", tracerConfig };
  return Promise.all(transactions.map((hash) => anvil.request<T>("debug_traceTransaction", [hash, options])));
}
