import type { Hex } from "viem";
import { z } from "zod";
import { readBlock, readReceipts, resolveNumber, type Block, type Receipt } from "../block-reader.ts";
import type { MethodGroup, Node } from "../method.ts";
import { blockNumberOrTag, quantity, readParams } from "../params.ts";
import { errorCode, RpcError } from "../rpc-error.ts";

/** Max blocks in one fee history, as in geth. */
const historyBlocksMax = 1_024;
const percentilesMax = 100;

const percentiles = z
  .array(z.number().min(0).max(100))
  .max(percentilesMax)
  .refine((values) => values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0)), {
    error: "expected percentiles that do not go down",
  });
const blockCount = z.union([quantity, z.int().nonnegative(), z.string().regex(/^\d{1,19}$/)], {
  error: "expected a number of blocks",
});

/** Creates the methods for gas prices and fees. */
export function createFeeMethods(node: Node): MethodGroup {
  return {
    eth_gasPrice: async (params) => {
      readParams([], params);
      return node.anvil.request("eth_gasPrice");
    },
    eth_maxPriorityFeePerGas: async (params) => {
      readParams([], params);
      return node.anvil.request("eth_maxPriorityFeePerGas");
    },
    eth_feeHistory: async (params) => {
      const [count, newest, rewards] = readParams([blockCount, blockNumberOrTag, percentiles.optional()], params);
      return computeFeeHistory(node, Math.min(Number(count), historyBlocksMax), newest, rewards ?? []);
    },
  };
}

/** Computes the history from the blocks, because anvil loses the fees of earlier blocks on restart. */
async function computeFeeHistory(node: Node, count: number, newest: string, rewards: readonly number[]) {
  const last = await resolveNumber(node, newest);
  const head = await resolveNumber(node, "latest");
  if (last > head) {
    throw new RpcError(errorCode.server, `request beyond head block: requested ${last}, head ${head}`);
  }
  const first = Math.max(0, last - count + 1);
  if (count === 0) return { oldestBlock: "0x0", baseFeePerGas: [], gasUsedRatio: [], reward: [] };
  const blocks: Block[] = [];
  const reward: Hex[][] = [];
  for (let number = first; number <= last; number += 1) {
    const block = await readBlock(node, toHex(number));
    if (block === null) throw new RpcError(errorCode.server, "header not found");
    blocks.push(block);
    if (rewards.length > 0) reward.push(await computeBlockRewards(node, block, rewards));
  }
  return {
    oldestBlock: toHex(first),
    baseFeePerGas: [...blocks.map((block) => block.baseFeePerGas), toHex(computeNextBaseFee(blocks.at(-1)))],
    gasUsedRatio: blocks.map((block) => Number(block.gasUsed) / Number(block.gasLimit)),
    ...(rewards.length > 0 ? { reward } : {}),
  };
}

async function computeBlockRewards(node: Node, block: Block, rewards: readonly number[]): Promise<Hex[]> {
  const receipts = block.transactions.length === 0 ? [] : await readReceipts(node, block);
  return computeRewards(rewards, receipts, block);
}

/** Computes the tip at each percentile of the block's gas, over transactions sorted by tip; zero for an empty block, as in geth. */
export function computeRewards(
  percents: readonly number[],
  receipts: readonly Pick<Receipt, "effectiveGasPrice" | "gasUsed">[],
  block: Pick<Block, "baseFeePerGas" | "gasUsed">,
): Hex[] {
  const tips = receipts
    .map((receipt) => ({
      tip: BigInt(receipt.effectiveGasPrice) - BigInt(block.baseFeePerGas),
      gas: Number(receipt.gasUsed),
    }))
    .sort((a, b) => (a.tip < b.tip ? -1 : 1));
  return percents.map((percent) => {
    const threshold = (Number(block.gasUsed) * percent) / 100;
    let gas = 0;
    const found = tips.find((tip) => (gas += tip.gas) >= threshold) ?? tips.at(-1);
    return toHex(found?.tip ?? 0n);
  });
}

/** Computes the base fee after a block (EIP-1559): changes by at most an eighth, in proportion to the block's distance from half full. */
export function computeNextBaseFee(block: Pick<Block, "baseFeePerGas" | "gasLimit" | "gasUsed"> | undefined): bigint {
  if (block === undefined) return 0n;
  const fee = BigInt(block.baseFeePerGas);
  const used = BigInt(block.gasUsed);
  const target = BigInt(block.gasLimit) / 2n;
  if (used === target) return fee;
  const change = (fee * (used > target ? used - target : target - used)) / target / 8n;
  if (used < target) return fee - change;
  return fee + (change > 1n ? change : 1n);
}

function toHex(value: number | bigint): Hex {
  return `0x${value.toString(16)}`;
}
