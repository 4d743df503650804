import type { KnownBlock } from "../state/data-evidence.ts";
import type { BlockCheck } from "../../upgrade/node-rpc.ts";

/**
 * Depth below the head that no node prunes; the reserved window of the specification's `PruneInfo` is 100,000. A node may pass that while
 * its sidecar is down.
 */
const unprunedBlocks = 10_000;

/**
 * State of a block known by number and hash. `replaced`: the node has another hash at that height; `missing`: it has none, though it is
 * past that height; `pruned`: it has none, and may have deleted it because of its age; `unknown`: the node gave no usable response, or
 * hasn't reached that height.
 */
export type KnownBlockState = "same" | "replaced" | "missing" | "pruned" | "unknown";

/** Compares a known block with the block that the node has at that number now, given the node's current height. */
export function compareKnownBlock(known: KnownBlock, now: BlockCheck, height: number | undefined): KnownBlockState {
  if (now.kind === "found") return now.hash === known.hash ? "same" : "replaced";
  if (now.kind === "unknown" || height === undefined || height < known.number) return "unknown";
  return height - known.number > unprunedBlocks ? "pruned" : "missing";
}

/** Whether a node has a known block, as far as can be expected. */
export function hasKnownBlock(known: KnownBlock, now: BlockCheck, height: number | undefined): boolean {
  const state = compareKnownBlock(known, now, height);
  return state === "same" || state === "pruned";
}
