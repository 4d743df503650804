import type { BlockCheck } from "../../upgrade/node-rpc.ts";
import type { DataEvidence, KnownBlock } from "../state/data-evidence.ts";

export type DataCheck = Readonly<{
  isAnswering: boolean;
  /** Whether the node responds on the expected chain, and either its height advances or the chain has no block to produce. */
  isHealthy: boolean;
  isExpectedChain: boolean;
  height: number | undefined;
  /** The known block and the chain's first block, as the node currently has them. */
  block: BlockCheck;
  genesis: BlockCheck;
  /** The known block as reported by the references; read only if the node's block is missing or different. */
  references: readonly BlockCheck[];
  isSyncing: boolean | undefined;
}>;

/** Verdict on the data. `doubt`: there is a sign against the data, but another cause is possible. */
export type DataAssessment = Readonly<
  | { kind: "sound" | "another-chain" | "unknown" }
  | { kind: "doubt"; sign: string; missing: readonly string[] }
  | { kind: "suspect"; sign: string }
>;

/** Min number of consecutive starts that ended. */
const endedStartsMin = 2;

/**
 * Evaluates the evidence against a node's data. There are two signs: a block too deep for a reorganization is replaced or missing, which
 * counts once a reorganization, a sync and another chain are ruled out; or the process exits after each start, which has other causes more
 * often. Pure.
 */
export function assessData({ mark, failedStarts }: DataEvidence, check: DataCheck): DataAssessment {
  const { genesis } = check;
  const isOther = mark?.genesis !== undefined && genesis.kind === "found" && genesis.hash !== mark.genesis;
  if (check.isAnswering && isOther) return { kind: "another-chain" };
  const sign = findOtherBlock({ mark }, check);
  if (sign !== undefined) {
    const missing = [...listBlockDoubts({ mark }, check)];
    return missing.length === 0 ? { kind: "suspect", sign } : { kind: "doubt", sign, missing };
  }
  const last = failedStarts.at(-1);
  if (last !== undefined && failedStarts.length >= endedStartsMin && !check.isAnswering) {
    const at = new Date(last.atMs).toISOString();
    return {
      kind: "doubt",
      sign: `the node's process exited in ${failedStarts.length} consecutive starts, the last at ${at} (${last.message})`,
      missing: ["node.conf, the binaries, the keys, a port in use, a lack of memory or disk space"],
    };
  }
  const holds = mark?.block === undefined || hasKnownBlock(mark.block, check.block, check.height);
  return { kind: check.isHealthy && holds ? "sound" : "unknown" };
}

function findOtherBlock({ mark }: Pick<DataEvidence, "mark">, { height, block }: DataCheck): string | undefined {
  if (mark?.block === undefined) return undefined;
  const had = `block ${mark.block.number}, which had the hash ${mark.block.hash} at ${new Date(mark.atMs).toISOString()},`;
  const state = compareKnownBlock(mark.block, block, height);
  if (state === "missing") return `${had} is missing, though the node is at ${height}`;
  return state === "replaced" && block.kind === "found" ? `${had} now has the hash ${block.hash}` : undefined;
}

function* listBlockDoubts({ mark }: Pick<DataEvidence, "mark">, check: DataCheck): Generator<string> {
  if (!check.isExpectedChain) yield "the wrong chain (see ChainIdMatches)";
  if (mark?.genesis === undefined || check.genesis.kind !== "found")
    yield "a different chain (the node does not return its genesis block)";
  if (check.block.kind === "gone" && check.isSyncing !== false)
    yield `a sync in progress (eth_syncing is ${check.isSyncing ?? "unknown"})`;
  const answered = check.references.filter(({ kind }) => kind !== "unknown");
  if (check.references.length === 0)
    yield "a reorganization (lag.references is empty, so the old hash can't be confirmed)";
  else if (answered.length === 0) yield "a reorganization (no reference returns that block)";
  else if (!answered.every((block) => block.kind === "found" && block.hash === mark?.block?.hash))
    yield "a reorganization (a reference has a different block there, too)";
}

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
type KnownBlockState = "same" | "replaced" | "missing" | "pruned" | "unknown";

export function compareKnownBlock(known: KnownBlock, now: BlockCheck, height: number | undefined): KnownBlockState {
  if (now.kind === "found") return now.hash === known.hash ? "same" : "replaced";
  if (now.kind === "unknown" || height === undefined || height < known.number) return "unknown";
  return height - known.number > unprunedBlocks ? "pruned" : "missing";
}

export function hasKnownBlock(known: KnownBlock, now: BlockCheck, height: number | undefined): boolean {
  const state = compareKnownBlock(known, now, height);
  return state === "same" || state === "pruned";
}
