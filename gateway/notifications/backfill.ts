import { findElement, splitElements, readObject } from "../json-rpc/read-object.ts";
import { formatQuantity } from "../chain/block-range.ts";
import type { NodeRequest } from "../upstream/request-node.ts";
import { readBlock, requestBlock, type RecentBlocks, type RememberedBlock } from "./recent-blocks.ts";
import type { SharedSubscription } from "./notification.ts";
import { formatRemovedLog } from "./sent-logs.ts";

/** Notifications that each subscription missed: JSON texts, in order; undefined if they can't be determined. */
export type Backfill = ReadonlyMap<SharedSubscription, readonly string[] | undefined>;

/** Members of a block that are not in its header, as geth sends it in `newHeads`. */
const notOfHeaders: ReadonlySet<string> = new Set(["transactions", "uncles", "withdrawals", "size", "totalDifficulty"]);

/**
 * Reads the notifications that subscriptions missed since the last block they were sent. `newHeads` subscribers get the headers after the
 * newest of those blocks that is still canonical. Log subscribers get the entries of the blocks that are no longer canonical, marked as
 * removed, then the new entries. Returns undefined if the notifications can't be sent without a gap: there are more than `bridgeBlocks`
 * blocks, none of the sent blocks is canonical, or the chain changes while this function reads it.
 */
export async function readBackfill(
  subscriptions: readonly SharedSubscription[],
  {
    memory,
    bridgeBlocks,
    requestNode,
  }: Readonly<{ memory: RecentBlocks; bridgeBlocks: number; requestNode: NodeRequest }>,
): Promise<Backfill | undefined> {
  const latestBlock = await requestBlock("latest", requestNode);
  if (latestBlock === undefined) return undefined;
  const ancestor =
    memory.blocks.length === 0 ? latestBlock : await findAncestor(memory.blocks, latestBlock, requestNode);
  if (ancestor === undefined || latestBlock.number - ancestor.number > BigInt(bridgeBlocks)) return undefined;
  const headers = await readHeaders(ancestor, latestBlock, requestNode);
  if (headers === undefined) return undefined;
  const results = await Promise.all(
    subscriptions.map(async (one) => {
      const own =
        one.sent === undefined ? headers : await readLogs(one, { ancestor, latest: latestBlock, memory, requestNode });
      return [one, own] as const;
    }),
  );
  return new Map(results);
}

async function findAncestor(
  blocks: readonly RememberedBlock[],
  latestBlock: RememberedBlock,
  requestNode: NodeRequest,
): Promise<RememberedBlock | undefined> {
  for (const block of blocks.toReversed()) {
    if (block.hash === latestBlock.hash) return block;
    if (block.number >= latestBlock.number) continue;
    const now = await requestBlock(formatQuantity(block.number), requestNode);
    if (now?.hash === block.hash) return block;
  }
  return undefined;
}

async function readHeaders(
  ancestor: RememberedBlock,
  latestBlock: RememberedBlock,
  requestNode: NodeRequest,
): Promise<readonly string[] | undefined> {
  const numbers = Array.from(
    { length: Number(latestBlock.number - ancestor.number) },
    (_, at) => ancestor.number + BigInt(at) + 1n,
  );
  const blocks = await Promise.all(
    numbers.map((number) => requestNode("eth_getBlockByNumber", `["${formatQuantity(number)}",false]`)),
  );
  let parent = ancestor.hash;
  for (const json of blocks) {
    const block = readBlock(json ?? "");
    if (block === undefined || block.parentHash !== parent) return undefined;
    parent = block.hash;
  }
  return parent === latestBlock.hash ? blocks.map((json) => buildHeader(json ?? "")) : undefined;
}

function buildHeader(block: string): string {
  const members = [...(readObject(block) ?? [])].filter(([name]) => !notOfHeaders.has(name));
  return `{${members.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
}

/**
 * Returns the last block whose entries were certainly sent. Entries of the two newest blocks may still have been in transit when their
 * headers arrived; blocks older than the subscription don't matter. If a subscription started before any block was seen, every remembered
 * block is newer.
 */
function findLastSent({
  since,
  memory,
  ancestor,
}: Readonly<{ since: bigint | undefined; memory: RecentBlocks; ancestor: bigint }>): bigint {
  const [first] = memory.blocks;
  const previousNumber = since ?? (first === undefined ? ancestor : first.number - 1n);
  if (previousNumber >= ancestor) return ancestor;
  return previousNumber > ancestor - 2n ? previousNumber : ancestor - 2n;
}

async function readLogs(
  { params, sent, since }: SharedSubscription,
  {
    ancestor,
    latest: latestBlock,
    memory,
    requestNode,
  }: Readonly<{ ancestor: RememberedBlock; latest: RememberedBlock; memory: RecentBlocks; requestNode: NodeRequest }>,
): Promise<readonly string[] | undefined> {
  const from = findLastSent({ since, memory, ancestor: ancestor.number });
  const gone = sent?.above(ancestor.number);
  if (sent === undefined || gone === undefined || sent.above(from) === undefined) return undefined;
  if (from >= latestBlock.number) return gone.map(formatRemovedLog);
  const selection = (findElement(params, 1) ?? "{}").slice(1, -1);
  const bounds = `"fromBlock":"${formatQuantity(from < 0n ? 0n : from + 1n)}","toBlock":"${formatQuantity(latestBlock.number)}"`;
  const found = await requestNode("eth_getLogs", `[{${bounds}${selection === "" ? "" : `,${selection}`}}]`);
  if (found === undefined) return undefined;
  return [...gone.map(formatRemovedLog), ...splitElements(found).filter((log) => !sent.has(log))];
}
