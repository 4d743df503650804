import { z } from "zod";
import type { CallJsonRpc } from "#daemon/http/json-rpc-client.ts";
import { NoJsonRpcAnswerError } from "#daemon/http/json-rpc-client.ts";

/** Blocks that the rate is taken over. */
const spanBlocks = 10_000;

const block = z.object({ timestamp: z.string().regex(/^0x[0-9a-f]{1,13}$/i) });

/** Reads how many seconds a node's chain takes for a block, from the times of its head and of a block some way below; undefined where the node does not answer. */
export async function readSecondsPerBlock(
  height: number,
  call: CallJsonRpc,
  signal: AbortSignal,
): Promise<number | undefined> {
  // The genesis block may be much older than the first one that was made.
  const span = Math.min(spanBlocks, height - 1);
  if (span < 1) return undefined;
  const [first, last] = await Promise.all([readTime(height - span, call, signal), readTime(height, call, signal)]);
  if (first === undefined || last === undefined || last <= first) return undefined;
  return (last - first) / span;
}

async function readTime(number: number, call: CallJsonRpc, signal: AbortSignal): Promise<number | undefined> {
  try {
    const answer = await call("eth_getBlockByNumber", [`0x${number.toString(16)}`, false], signal);
    const parsed = block.safeParse(answer.ok ? answer.result : undefined);
    return parsed.success ? Number(parsed.data.timestamp) : undefined;
  } catch (error) {
    if (!(error instanceof NoJsonRpcAnswerError)) throw error;
    return undefined;
  }
}
