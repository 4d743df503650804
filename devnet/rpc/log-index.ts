import type { Anvil } from "../anvil/anvil.ts";

type Chain = Pick<Anvil, "request">;

type NumberedLog = Readonly<{ logIndex: string; transactionHash: string }>;

/** Wraps the chain so that logs are numbered within their transaction, as on the public family's nodes, instead of within their block. */
export function withLogIndexOfTransaction({ request }: Chain): Chain {
  const findFirst = async (hash: string): Promise<number> => {
    const receipt = await request<{ logs: readonly NumberedLog[] } | null>("eth_getTransactionReceipt", [hash]);
    return Number(receipt?.logs[0]?.logIndex ?? 0);
  };
  const renumber = async (logs: readonly NumberedLog[]): Promise<readonly NumberedLog[]> => {
    const hashes = [...new Set(logs.map(({ transactionHash }) => transactionHash))];
    const firsts = new Map(await Promise.all(hashes.map(async (hash) => [hash, await findFirst(hash)] as const)));
    return logs.map((log) => {
      const index = Number(log.logIndex) - (firsts.get(log.transactionHash) ?? 0);
      return { ...log, logIndex: `0x${index.toString(16)}` };
    });
  };
  const renumberReceipt = async <Receipt extends Readonly<{ logs: readonly NumberedLog[] }> | null>(receipt: Receipt) =>
    receipt === null ? receipt : { ...receipt, logs: await renumber(receipt.logs) };
  return {
    request: async <T>(method: string, params?: readonly unknown[]): Promise<T> => {
      const result: unknown = await request(method, params);
      if (method === "eth_getLogs") return (await renumber(result as readonly NumberedLog[])) as T;
      if (method === "eth_getTransactionReceipt") return (await renumberReceipt(result as never)) as T;
      if (method === "eth_getBlockReceipts" && Array.isArray(result)) {
        return (await Promise.all(result.map((receipt) => renumberReceipt(receipt as never)))) as T;
      }
      return result as T;
    },
  };
}
