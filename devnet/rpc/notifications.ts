import type { Hex } from "viem";
import type { ChainBlock } from "../anvil/chain.ts";
import type { LogFilter } from "./log-filter.ts";
import type { Node } from "./method.ts";
import type { Topic } from "./subscriptions.ts";

/** Finds what one block has for a topic, as JSON texts; each block's answers are computed once for all who ask. */
export type BlockNews = (topic: Topic) => Promise<readonly string[]>;

/** Prepares the news of a block. */
export function newsOf(block: ChainBlock, node: Node): BlockNews {
  const header = JSON.stringify(headerOf(block));
  const logs = new Map<string, Promise<readonly string[]>>();
  return async (topic) => {
    if (topic.type === "newHeads") return [header];
    const key = JSON.stringify(topic.filter);
    const known = logs.get(key) ?? readLogs(block, topic.filter, node);
    logs.set(key, known);
    return known;
  };
}

/** The notification that carries one piece of news (geth's `eth_subscription`). */
export function notification(id: Hex, result: string): string {
  return `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}}}`;
}

/** A header has neither the block's content nor what is computed from it. */
function headerOf(block: ChainBlock): object {
  const { transactions: _, uncles: __, withdrawals: ___, size: ____, totalDifficulty: _____, ...header } = block;
  return header;
}

async function readLogs(block: ChainBlock, { address, topics }: LogFilter, { anvil }: Node) {
  if (block.transactions.length === 0) return [];
  const filter = { blockHash: block.hash, address: address ?? [], topics: topics ?? [] };
  const logs = await anvil.request<readonly unknown[]>("eth_getLogs", [filter]);
  return logs.map((log) => JSON.stringify(log));
}
