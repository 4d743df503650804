import type { KnownBlock } from "../state/data-evidence.ts";
import type { BlockLook } from "../../upgrade/node-rpc.ts";

/**
 * Depth below the head down to which no node prunes blocks; the reserved window of the specification's `PruneInfo` is 100,000. A node may have gone
 * past that while its sidecar was away.
 */
const unprunedBlocks = 10_000;

/**
 * State of a block that is known by number and hash. `replaced`: the node has another hash there; `missing`: it has none, though it is past that height;
 * `pruned`: it has none, and may have deleted it because it is old; `unknown`: the node gave no useful answer, or has not reached that height.
 */
export type KnownBlockState = "same" | "replaced" | "missing" | "pruned" | "unknown";

/** Compares a known block with what a node at a height has at its number now. */
export function compareKnownBlock(known: KnownBlock, now: BlockLook, height: number | undefined): KnownBlockState {
  if (now.kind === "found") return now.hash === known.hash ? "same" : "replaced";
  if (now.kind === "unknown" || height === undefined || height < known.number) return "unknown";
  return height - known.number > unprunedBlocks ? "pruned" : "missing";
}

/** Whether a node has a known block, as far as it can be expected to. */
export function hasKnownBlock(known: KnownBlock, now: BlockLook, height: number | undefined): boolean {
  const state = compareKnownBlock(known, now, height);
  return state === "same" || state === "pruned";
}
