import type { Hex } from "viem";
import type { Block } from "./block-reader.ts";
import type { Node } from "./method.ts";

/** State of an account in a block: only the fields read or written. */
type AccountState = Readonly<{
  balance?: Hex;
  nonce?: number;
  code?: Hex;
  storage?: Readonly<Record<Hex, Hex>>;
}>;

/** Accounts by address. */
export type BlockState = Readonly<Record<Hex, AccountState>>;

type Difference = Readonly<{ pre: BlockState; post: BlockState }>;

const emptyWord: Hex = `0x${"0".repeat(64)}`;

/** Reads the state that the block's transactions read, with the values before the block. */
export async function readStates(node: Node, block: Block): Promise<BlockState> {
  const states = await runTracer<BlockState>(node, block, { tracer: "prestateTracer" });
  // The earliest transaction that read a field saw its value from before the block.
  return states.reduceRight<BlockState>(merge, {});
}

/** Reads the state that the block's transactions changed, with the values after the block. */
export async function readWrittenStates(node: Node, block: Block): Promise<BlockState> {
  const options = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
  const differences = await runTracer<Difference>(node, block, options);
  return differences.map(withCleared).reduce<BlockState>(merge, {});
}

/** Lists the keys of written state: an account's address, or the address followed by the storage slot (52 bytes). */
export function listStateKeys(states: BlockState): readonly Hex[] {
  return Object.entries(states).flatMap(([address, { storage = {}, ...account }]) => {
    const slots = Object.keys(storage).map((slot): Hex => `${address as Hex}${slot.slice(2)}`);
    return Object.keys(account).length > 0 ? [address as Hex].concat(slots) : slots;
  });
}

async function runTracer<T>({ anvil }: Node, block: Block, options: object): Promise<readonly T[]> {
  const traces: T[] = [];
  for (const transaction of block.transactions) {
    traces.push(await anvil.request<T>("debug_traceTransaction", [transaction, options]));
  }
  return traces;
}

/** Adds the slots set to zero: the tracer omits them, but they were written. */
function withCleared({ pre, post }: Difference): BlockState {
  const cleared = Object.entries(pre).flatMap(([address, { storage = {} }]) => {
    const slots = Object.keys(storage).filter((slot) => post[address as Hex]?.storage?.[slot as Hex] === undefined);
    return slots.length === 0
      ? []
      : [[address, { storage: Object.fromEntries(slots.map((slot) => [slot, emptyWord])) }]];
  });
  return merge(post, Object.fromEntries(cleared) as BlockState);
}

/** Merges two states; `above` overrides `below`. */
function merge(below: BlockState, above: BlockState): BlockState {
  const merged: Record<Hex, AccountState> = { ...below };
  for (const [address, state] of Object.entries(above) as [Hex, AccountState][]) {
    const before = merged[address];
    const storage = { ...before?.storage, ...state.storage };
    merged[address] = { ...before, ...state, ...(Object.keys(storage).length > 0 ? { storage } : {}) };
  }
  return merged;
}
