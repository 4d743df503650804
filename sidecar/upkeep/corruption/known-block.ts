import type { KnownBlock } from "../state/data-evidence.ts";
import type { BlockCheck } from "../../upgrade/node-rpc.ts";

/**
 * Depth below the head at which no node prunes; the reserved window in the specification's `PruneInfo` is 100,000. A node may advance past
 * this depth while its sidecar is down.
 */
const unprunedBlocks = 10_000;

/**
 * State of a block known by number and hash. `replaced`: the node has another hash at that height; `missing`: it has no block there, though
 * it is past that height; `pruned`: it has no block there, and may have deleted it because of its age; `unknown`: the node gave no usable
 * response, or hasn't reached that height.
 */
export type KnownBlockState = "same" | "replaced" | "missing" | "pruned" | "unknown";

export function compareKnownBlock(known: KnownBlock, now: BlockCheck, height: number | undefined): KnownBlockState {
  if (now.kind === "found") return now.hash === known.hash ? "same" : "replaced";
  if (now.kind === "unknown" || height === undefined || height < known.number) return "unknown";
  return height - known.number > unprunedBlocks ? "pruned" : "missing";
}

export function hasKnownBlock(known: KnownBlock, now: BlockCheck, height: number | undefined): boolean {
  const state = compareKnownBlock(known, now, height);
  return state === "same" || state === "pruned";
}
