import { z } from "zod";
import { createJsonRpcClient, NoJsonRpcResponseError } from "#daemon/http/json-rpc-client.ts";

/** Queries that an upgrade makes to the node, besides the health check. The result is undefined if there is no usable response. */
export type NodeRpc = Readonly<{
  blockHash: (number: number, signal?: AbortSignal) => Promise<string | undefined>;
  peers: (signal?: AbortSignal) => Promise<number | undefined>;
}>;

/** A block requested by number. `unknown`: there was no usable response. */
export type BlockCheck = Readonly<{ kind: "found"; hash: string } | { kind: "gone" | "unknown" }>;

/** Queries that a check of the node's data makes. The result is undefined if there is no usable response. */
export type DataRpc = Readonly<{
  findBlock: (number: number, signal: AbortSignal) => Promise<BlockCheck>;
  isSyncing: (signal: AbortSignal) => Promise<boolean | undefined>;
}>;

const timeoutMs = 10_000;
const responseBytesMax = 16_777_216;

const block = z.object({ hash: z.string() });
const timedBlock = z.object({ timestamp: z.string().regex(/^0x[0-9a-f]{1,13}$/i) });
const quantity = z.string().regex(/^0x[0-9a-f]+$/i);

const syncingSchema = z.union([z.literal(false), z.record(z.string(), z.unknown())]);

export type NodeQueries = NodeRpc &
  DataRpc &
  Readonly<{
    /** Timestamp of a block. */
    blockSeconds: (number: number, signal: AbortSignal) => Promise<number | undefined>;
  }>;

export function createNodeRpc(url: string): NodeQueries {
  const call = createJsonRpcClient({ url, timeoutMs, responseBytesMax });
  const query = async <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[], signal?: AbortSignal) => {
    try {
      const response = await call(method, params, signal);
      const parsed = schema.safeParse(response.ok ? response.result : undefined);
      return parsed.success ? parsed.data : undefined;
    } catch (error) {
      if (!(error instanceof NoJsonRpcResponseError)) throw error;
      return undefined;
    }
  };
  const queryBlock = <T>(schema: z.ZodType<T>, number: number, signal?: AbortSignal) =>
    query(schema, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false], signal);
  const findBlock = async (number: number, signal?: AbortSignal): Promise<BlockCheck> => {
    const found = await queryBlock(block.nullable(), number, signal);
    if (found === undefined) return { kind: "unknown" };
    return found === null ? { kind: "gone" } : { kind: "found", hash: found.hash };
  };
  return {
    findBlock,
    blockSeconds: async (number, signal) => {
      const found = await queryBlock(timedBlock, number, signal);
      return found && Number(found.timestamp);
    },
    blockHash: async (number, signal) => {
      const found = await findBlock(number, signal);
      return found.kind === "found" ? found.hash : undefined;
    },
    isSyncing: async (signal) => {
      const state = await query(syncingSchema, "eth_syncing", [], signal);
      return state === undefined ? undefined : state !== false;
    },
    peers: async (signal) => {
      const count = await query(quantity, "net_peerCount", [], signal);
      return count === undefined ? undefined : Number(count);
    },
  };
}
