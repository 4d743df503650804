import type { Hex } from "viem";
import { proposerOf, validatorAddresses } from "../anvil/validators.ts";
import { readBlock, requireBlock, type Block, type Receipt } from "./block-reader.ts";
import { readStates, stateKeys, writtenStates } from "./block-state.ts";
import type { MethodGroup, Node } from "./method.ts";
import { blockNumberOrTag, hash, readParams } from "./params.ts";

/**
 * What the specification adds to Ethereum's methods. It does not show the objects' fields: those here are devnet values, all
 * made from the chain's own data.
 */
export function extensionMethods(node: Node): MethodGroup {
  const read = async (params: readonly unknown[]): Promise<Block> => {
    const [id] = readParams([blockNumberOrTag], params);
    return requireBlock(node, id);
  };
  return {
    eth_getProposerByTxHash: async (params) => {
      const [transaction] = readParams([hash], params);
      const receipt = await node.anvil.request<Receipt | null>("eth_getTransactionReceipt", [transaction]);
      const block = receipt === null ? null : await readBlock(node, receipt.blockHash);
      return block === null ? null : { transactionHash: transaction, ...proposal(block) };
    },
    eth_getProposersByBlockNumber: async (params) => proposers(await read(params)),
    debug_getValidatorInfo: async (params) => {
      const [id] = readParams([blockNumberOrTag.optional()], params);
      return validatorInfo(await requireBlock(node, id ?? "latest"));
    },
    debug_getBlockProof: async (params) => (await import("./block-proof.ts")).proveBlock(await read(params)),
    debug_getBlockReadStates: async (params) => {
      const block = await read(params);
      return { ...identity(block), states: await readStates(node, block) };
    },
    debug_getBlockWriteStates: async (params) => {
      const block = await read(params);
      return { ...identity(block), states: await writtenStates(node, block) };
    },
    debug_getBlockWriteSetKeys: async (params) => stateKeys(await writtenStates(node, await read(params))),
    debug_protocolVersion: async (params) => {
      readParams([], params);
      return protocolVersion(node, await requireBlock(node, "finalized"));
    },
  };
}

function identity(block: Block) {
  return { blockNumber: block.number, blockHash: block.hash };
}

function proposal(block: Block) {
  const index = validatorAddresses.indexOf(block.miner);
  return { ...identity(block), proposer: block.miner, validatorIndex: toHex(index) };
}

/** The one proposer of a block; nobody proposed the genesis block. */
function proposers(block: Block): readonly Hex[] {
  return Number(block.number) === 0 ? [] : [block.miner];
}

async function validatorInfo(block: Block) {
  const { blsPublicKey } = await import("./block-proof.ts");
  const height = Number(block.number);
  return {
    ...identity(block),
    nextProposer: proposerOf(height + 1),
    validators: validatorAddresses.map((address, index) => ({
      index: toHex(index),
      address,
      blsPublicKey: blsPublicKey(address),
      votingPower: "0x1",
      proposedBlocks: toHex(proposedBlocks(height, index)),
    })),
  };
}

/** Blocks that a validator proposed from block 1 to `height`. */
function proposedBlocks(height: number, index: number): number {
  const upTo = Math.floor((height - index + validatorAddresses.length) / validatorAddresses.length);
  return index === 0 ? upTo - 1 : Math.max(0, upTo);
}

/** Devnet has one specification version, which never changes; the stable block is the newest final one. */
function protocolVersion({ version }: Node, stable: Block) {
  return {
    binaryVersion: version,
    currentSpecVersion: 1,
    currentStableBlock: stable.number,
    higherSpecVersions: [],
    protocolVersion: 1,
  };
}

function toHex(value: number): Hex {
  return `0x${value.toString(16)}`;
}
