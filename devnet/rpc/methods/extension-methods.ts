import type { Hex } from "viem";
import { findProposer, validatorAddresses } from "../../anvil/validators.ts";
import { readBlock, requireBlock, type Block, type Receipt } from "../block-reader.ts";
import { readStates, listStateKeys, readWrittenStates } from "../block-state.ts";
import type { MethodGroup, Node } from "../method.ts";
import { blockNumberOrTag, hash, readParams } from "../params.ts";

/**
 * Creates the methods that the specification adds to Ethereum's. The specification does not show the fields of their objects, so the fields
 * are devnet values, all derived from the chain's own data.
 */
export function createExtensionMethods(node: Node): MethodGroup {
  const read = async (params: readonly unknown[]): Promise<Block> => {
    const [id] = readParams([blockNumberOrTag], params);
    return requireBlock(node, id);
  };
  const answer = chooseNumberForm(node);
  const identity = ({ number, hash: blockHash }: Block) => ({ blockNumber: answer(Number(number)), blockHash });
  return {
    eth_getProposerByTxHash: async (params) => {
      const [transaction] = readParams([hash], params);
      const receipt = await node.anvil.request<Receipt | null>("eth_getTransactionReceipt", [transaction]);
      const block = receipt === null ? null : await readBlock(node, receipt.blockHash);
      if (block === null) return null;
      const validatorIndex = answer(validatorAddresses.indexOf(block.miner));
      return { transactionHash: transaction, ...identity(block), proposer: block.miner, validatorIndex };
    },
    eth_getProposersByBlockNumber: async (params) => listProposers(await read(params)),
    debug_getValidatorInfo: async (params) => {
      const [id] = readParams([blockNumberOrTag.optional()], params);
      const block = await requireBlock(node, id ?? "latest");
      return { ...identity(block), ...(await buildValidatorInfo(Number(block.number), answer)) };
    },
    debug_getBlockProof: async (params) => {
      const { proveBlock } = await import("../block-proof.ts");
      const block = await read(params);
      return { ...identity(block), ...proveBlock(block) };
    },
    debug_getBlockReadStates: async (params) => {
      const block = await read(params);
      return { ...identity(block), states: await readStates(node, block) };
    },
    debug_getBlockWriteStates: async (params) => {
      const block = await read(params);
      return { ...identity(block), states: await readWrittenStates(node, block) };
    },
    debug_getBlockWriteSetKeys: async (params) => listStateKeys(await readWrittenStates(node, await read(params))),
    debug_protocolVersion: async (params) => {
      readParams([], params);
      const stable = await requireBlock(node, "finalized");
      return buildProtocolVersion(node, answer(Number(stable.number)));
    },
  };
}

type NumberForm = (value: number) => Hex | number;

function chooseNumberForm({ numbers = "hexadecimal" }: Node): NumberForm {
  return numbers === "decimal" ? (value) => value : (value) => `0x${value.toString(16)}`;
}

/** Lists the single proposer of a block; the genesis block has none. */
function listProposers(block: Block): readonly Hex[] {
  return Number(block.number) === 0 ? [] : [block.miner];
}

async function buildValidatorInfo(height: number, answer: NumberForm) {
  const { deriveBlsPublicKey } = await import("../block-proof.ts");
  return {
    nextProposer: findProposer(height + 1),
    validators: validatorAddresses.map((address, index) => ({
      index: answer(index),
      address,
      blsPublicKey: deriveBlsPublicKey(address),
      votingPower: answer(1),
      proposedBlocks: answer(countProposedBlocks(height, index)),
    })),
  };
}

/** Counts the blocks from 1 to `height` that a validator proposed. */
function countProposedBlocks(height: number, index: number): number {
  const upTo = Math.floor((height - index + validatorAddresses.length) / validatorAddresses.length);
  return index === 0 ? upTo - 1 : Math.max(0, upTo);
}

/** Builds the response: one specification version, which never changes; the stable block is the newest final one. */
function buildProtocolVersion({ version, commit }: Node, currentStableBlock: Hex | number) {
  const one = commit === undefined ? 1 : "0x1";
  return {
    binaryVersion: commit ?? version,
    currentSpecVersion: one,
    currentStableBlock,
    higherSpecVersions: [],
    protocolVersion: one,
  };
}
