import { z } from "zod";
import { findSettledBlock } from "#node/settled-block.ts";
import { compareProgram, nameProgram, type ProgramIdentity } from "#node/versions.ts";
import type { NodeRpc } from "./node-rpc.ts";

/** Facts about the running node, recorded before it is stopped and used to verify either version. */
export const nodeBefore = z.object({
  height: z.number(),
  /** A block too deep for any reorganization to reach; absent if the node did not return it. */
  block: z.object({ number: z.number(), hash: z.string() }).optional(),
  autoPrune: z.boolean(),
  /** Whether the running node reports its version itself. */
  tellsVersion: z.boolean(),
});

export type NodeBefore = Readonly<z.output<typeof nodeBefore>>;

/** Reads the block used to verify that either version has the old data. */
export async function readKnownBlock(
  height: number,
  blockHash: NodeRpc["blockHash"],
  signal?: AbortSignal,
): Promise<NodeBefore["block"]> {
  const number = findSettledBlock(height);
  const hash = await blockHash(number, signal);
  return hash === undefined ? undefined : { number, hash };
}

/** Lists warnings for the operator before the node is stopped. Pure. */
export function listNodeWarnings(before: NodeBefore | undefined, peers: number | undefined): readonly string[] {
  return [
    ...(before !== undefined && before.block === undefined
      ? ["the node returns no block by its number (eth_getBlockByNumber), so the new version's data can't be verified"]
      : []),
    ...(peers === 0 ? ["the node has no peers: it is unknown whether the new version finds any"] : []),
  ];
}

/**
 * Explains why a node's version can't be verified; `reported` is what the node itself reports. Returns undefined if the version is
 * verified, or if the evidence is inconclusive. Pure.
 */
export function findVersionConcern(
  wanted: ProgramIdentity,
  { tellsVersion }: Pick<NodeBefore, "tellsVersion">,
  { reported, found = reported }: Readonly<Partial<Record<"reported" | "found", ProgramIdentity | undefined>>>,
): string | undefined {
  if (reported === undefined && tellsVersion) {
    return `it does not report its version, which must be ${nameProgram(wanted)}`;
  }
  if (found === undefined || compareProgram(found, wanted) !== "other") return undefined;
  return `it runs as ${nameProgram(found)}, not as ${nameProgram(wanted)}`;
}

/** Explains why a node does not have the old data. Returns undefined if it does, or if nothing is known about the data. Pure. */
export function findDataConcern({ block }: Pick<NodeBefore, "block">, hash: string | undefined): string | undefined {
  if (block === undefined || hash === block.hash) return undefined;
  const what = hash === undefined ? "is not returned" : `has the hash ${hash}`;
  return `its data differs: block ${block.number}, which had the hash ${block.hash}, ${what}`;
}

/** Explains why a height does not show that the node advances. `isIdle`: the chain has not produced a block for longer than usual. Pure. */
export function findHeightConcern(
  before: Pick<NodeBefore, "height">,
  height: number,
  isIdle: boolean,
): string | undefined {
  if (height > before.height || (height === before.height && isIdle)) return undefined;
  return `its height is ${height}, and was ${before.height} before the upgrade`;
}
