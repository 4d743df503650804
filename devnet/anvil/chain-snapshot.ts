import { gunzipSync, gzipSync } from "node:zlib";
import type { Hex } from "viem";
import type { AnvilClient } from "./anvil-request.ts";

/**
 * Number of past blocks whose state the chain retains in addition to the newest block's, as `node_cli prune --get` promises
 * (`devnet/pruning.ts`). Anvil stores each state in full: 100,000 of them don't fit in memory (measured: 5.7 GB for the first 10,000).
 */
export const keptStates = 125;

/** Number of hashes that the EVM's BLOCKHASH can reach from a block. */
const reachableHashes = 256;

/** Max length of parsable text (V8's limit is 2^29 characters). */
const parsedBytesMax = 400 * 1024 * 1024;

/** A past block's state in anvil's format; only the fields used here. */
type State = Readonly<{ block_hashes: Readonly<Record<string, string>> }>;
type States = readonly (readonly [blockHash: Hex, state: State])[];

/**
 * Dumps the chain in anvil's format: gzipped JSON.
 *
 * @param withStates whether to include the states of past blocks.
 */
export async function dumpSnapshot(client: AnvilClient, withStates: boolean): Promise<Uint8Array> {
  const dump = await client.request<Hex>("anvil_dumpState", [withStates]);
  return Buffer.from(dump.slice(2), "hex");
}

/**
 * Loads a saved chain into an empty anvil. Anvil writes past states in no particular order, but evicts them in the order in which it read
 * them. Therefore past states are loaded separately, oldest first, and only those to be retained.
 */
export async function loadSnapshot(client: AnvilClient, snapshot: Uint8Array): Promise<void> {
  const { chain, states } = split(gunzipSync(snapshot));
  await load(client, chain);
  const byHash = new Map(states);
  if (byHash.size === 0) return;
  const kept: (readonly [Hex, State])[] = [];
  for (const hash of await listKeptHashes(client)) {
    const state = byHash.get(hash);
    if (state !== undefined) kept.push([hash, withReachableHashes(state)]);
  }
  const onlyStates = { block: null, accounts: {}, best_block_number: null, blocks: [], transactions: [] };
  await load(client, Buffer.from(JSON.stringify({ ...onlyStates, historical_states: kept })));
}

/** Splits the past states, which are the last field, from a saved chain. */
function split(snapshot: Buffer): Readonly<{ chain: Buffer; states: States }> {
  const field = '"historical_states":';
  const at = snapshot.lastIndexOf(field);
  if (at < 0) return { chain: snapshot, states: [] };
  const chain = Buffer.concat([snapshot.subarray(0, at), Buffer.from(`${field}null}`)]);
  // The rest is the value and the closing brace of the document.
  const value = snapshot.subarray(at + field.length, snapshot.lastIndexOf("}"));
  if (value.length > parsedBytesMax) return { chain, states: [] };
  return { chain, states: (JSON.parse(value.toString("utf8")) as States | null) ?? [] };
}

/** Lists the hashes of the blocks before the newest whose states are retained, oldest first. */
async function listKeptHashes(client: AnvilClient): Promise<readonly Hex[]> {
  const head = Number(await client.request<Hex>("eth_blockNumber"));
  const oldest = Math.max(0, head - keptStates);
  const numbers = Array.from({ length: head - oldest }, (_, index): Hex => `0x${(oldest + index).toString(16)}`);
  return Promise.all(
    numbers.map(async (number) => {
      return (await client.request<{ hash: Hex }>("eth_getBlockByNumber", [number, false])).hash;
    }),
  );
}

/** Drops unreachable hashes: anvil stores the hashes of all blocks with each state, which costs memory. */
function withReachableHashes(state: State): State {
  const newest = Object.entries(state.block_hashes)
    .sort(([a], [b]) => Number(b) - Number(a))
    .slice(0, reachableHashes);
  return { ...state, block_hashes: Object.fromEntries(newest) };
}

async function load(client: AnvilClient, state: Buffer): Promise<void> {
  await client.request("anvil_loadState", [`0x${gzipSync(state, { level: 1 }).toString("hex")}`]);
}
