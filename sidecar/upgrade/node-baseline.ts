import { z } from "zod";
import { findSettledBlock } from "#node/settled-block.ts";
import type { NodeRpc } from "./node-rpc.ts";

/** Facts about the running node, recorded before it is stopped and used to verify either version. */
export const nodeBaseline = z.object({
  height: z.number(),
  /** A block too deep for any reorganization to reach; absent if the node did not return it. */
  block: z.object({ number: z.number(), hash: z.string() }).optional(),
  autoPrune: z.boolean(),
  tellsVersion: z.boolean(),
});

export type NodeBaseline = Readonly<z.output<typeof nodeBaseline>>;

/** Reads the block used to verify that either version has the old data. */
export async function readKnownBlock(
  height: number,
  blockHash: NodeRpc["blockHash"],
  signal?: AbortSignal,
): Promise<NodeBaseline["block"]> {
  const number = findSettledBlock(height);
  const hash = await blockHash(number, signal);
  return hash === undefined ? undefined : { number, hash };
}

export function listNodeWarnings(baseline: NodeBaseline | undefined, peers: number | undefined): readonly string[] {
  return [
    ...(baseline !== undefined && baseline.block === undefined
      ? ["the node returns no block by its number (eth_getBlockByNumber), so the new version's data can't be verified"]
      : []),
    ...(peers === 0 ? ["the node has no peers, so it is unknown whether the new version will find any"] : []),
  ];
}
