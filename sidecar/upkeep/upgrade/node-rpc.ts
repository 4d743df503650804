import { z } from "zod";
import { createJsonRpcClient, NoJsonRpcAnswerError } from "#daemon/http/json-rpc-client.ts";

/** What an upgrade asks the node besides its health; undefined where it gives no answer of use. */
export type NodeRpc = Readonly<{
  blockHash: (number: number, signal: AbortSignal) => Promise<string | undefined>;
  peers: (signal: AbortSignal) => Promise<number | undefined>;
}>;

const timeoutMs = 10_000;
const answerBytesMax = 16_777_216;

const block = z.object({ hash: z.string() });
const quantity = z.string().regex(/^0x[0-9a-f]+$/i);

/** Creates the questions for a node. */
export function createNodeRpc(url: string): NodeRpc {
  const call = createJsonRpcClient({ url, timeoutMs, answerBytesMax });
  const ask = async <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[], signal: AbortSignal) => {
    try {
      const answer = await call(method, params, signal);
      const parsed = schema.safeParse(answer.ok ? answer.result : undefined);
      return parsed.success ? parsed.data : undefined;
    } catch (error) {
      if (!(error instanceof NoJsonRpcAnswerError)) throw error;
      return undefined;
    }
  };
  return {
    blockHash: async (number, signal) =>
      (await ask(block, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false], signal))?.hash,
    peers: async (signal) => {
      const count = await ask(quantity, "net_peerCount", [], signal);
      return count === undefined ? undefined : Number(count);
    },
  };
}
