import { z } from "zod";
import type { RpcState, ReportedVersion } from "./rpc-state.ts";
import { parseQuantity, RpcFailure, type RpcClient } from "./rpc-client.ts";

/** Returns the version that a node reports now, or the last one it reported. */
export async function readVersion(
  rpc: RpcClient,
  last: ReportedVersion | undefined,
  signal: AbortSignal,
): Promise<Partial<RpcState>> {
  const { data } = protocolVersion.safeParse(await readIfSupported(rpc("debug_protocolVersion", [], signal)));
  if (data !== undefined)
    return { binaryVersion: { text: data.binaryVersion.slice(0, versionLength), isCurrent: true } };
  return last === undefined ? {} : { binaryVersion: { ...last, isCurrent: false } };
}

/** Returns the number of the node's latest block. Throws {@link RpcFailure} if the node does not respond. */
export async function readHeight(rpc: RpcClient, url: string, signal: AbortSignal): Promise<number> {
  return parseQuantity(await rpc("eth_blockNumber", [], signal), "eth_blockNumber", url);
}

/** Returns the id of the node's chain. Throws {@link RpcFailure} if the node does not respond. */
export async function readChainId(rpc: RpcClient, url: string, signal: AbortSignal): Promise<number> {
  return parseQuantity(await rpc("eth_chainId", [], signal), "eth_chainId", url);
}

/** Returns the node's client version and sync state; each is present only if the node responds to the query for it. */
export async function readDetails(rpc: RpcClient, signal: AbortSignal): Promise<Partial<RpcState>> {
  const clientVersion = await readIfSupported(rpc("web3_clientVersion", [], signal));
  const syncing = await readIfSupported(rpc("eth_syncing", [], signal));
  return {
    ...(typeof clientVersion === "string" ? { clientVersion: clientVersion.slice(0, versionLength) } : {}),
    ...(syncing === undefined ? {} : { syncing }),
  };
}

const versionLength = 200;

const protocolVersion = z.object({ binaryVersion: z.string().min(1) });

const timedBlock = z.object({ timestamp: z.string().regex(/^0x[0-9a-f]{1,12}$/i) });

/** Returns the timestamp of a block, in milliseconds since 1970; undefined if the node does not report it. */
export async function readBlockMs(height: number, rpc: RpcClient, signal: AbortSignal): Promise<number | undefined> {
  const block = await readIfSupported(rpc("eth_getBlockByNumber", [`0x${height.toString(16)}`, false], signal));
  const { data } = timedBlock.safeParse(block);
  return data && Number(data.timestamp) * 1_000;
}

/**
 * Calls a method that a node may lack, may not serve on this endpoint, or may start serving later than others. Without a usable response,
 * the value is unknown, but the node still counts as responding.
 */
async function readIfSupported(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcFailure) return undefined;
    throw error;
  }
}
