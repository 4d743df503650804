import { settledBlocks } from "#node/settled-block.ts";
import type { BlockCheck } from "../../upgrade/node-rpc.ts";
import type { DataEvidence, FailedStart, KnownBlock } from "../state/data-evidence.ts";
import type { DataLocation } from "./data-location.ts";

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
  referenceHeight: number | undefined;
  peers: number | undefined;
  isSyncing: boolean | undefined;
  processes: readonly number[];
  programs: string | undefined;
  programNames?: readonly string[] | undefined;
  place: DataLocation;
  /** Hashes of the current node.conf and of the node.conf with which the node last advanced. */
  configHash: string | undefined;
  healthyHash: string | undefined;
  /** Whether an upgrade is stuck between two versions, which alone may be the cause. */
  isStranded: boolean;
}>;

export type DataLimits = Readonly<{ /** `health.diskFreeRatio`. */ diskFreeRatio: number }>;

/** Verdict on the data. `doubt`: there is evidence against the data, but another cause can't be ruled out yet. */
export type DataAssessment = Readonly<
  | { kind: "sound" | "another-chain" }
  /** `why`: starts failed, but they say nothing about the data. */
  | { kind: "unknown"; why?: string }
  | { kind: "doubt"; signs: readonly string[]; missing: readonly string[] }
  | { kind: "suspect"; signs: readonly string[] }
>;

/** Min number of consecutive failed starts with a good node.conf. */
export const failedStartsMin = 3;

/** A process that runs longer than this before it exits may have been working, e.g. replaying its log. */
const endsWithinMs = 120_000;

/**
 * Evaluates the evidence against a node's data. There are three signs: the process exits soon after each start; the head stays far below
 * its previous height; a block too deep for a reorganization is replaced or missing. Each sign counts only once every other checkable cause
 * is ruled out; the verdict lists the checks that are still missing. A start that failed because a program is missing is not evidence.
 * Pure.
 */
export function assessData(evidence: DataEvidence, check: DataCheck, limits: DataLimits): DataAssessment {
  const { mark, failedStarts } = evidence;
  const { genesis } = check;
  const isOther = mark?.genesis !== undefined && genesis.kind === "found" && genesis.hash !== mark.genesis;
  if (check.isAnswering && isOther) return { kind: "another-chain" };
  const other = findOtherBlock(evidence, check);
  if (other !== undefined) {
    return assessSigns([other], [...listBlockDoubts(evidence, check), ...listCommonDoubts(evidence, check, limits)]);
  }
  const starts = findSameStarts(failedStarts);
  const sign = findFailedStarts(starts, evidence, check);
  const missing = findMissingPrograms(evidence, check);
  if (sign !== undefined && starts.at(-1)?.kind === "ended" && missing.length > 0) {
    return {
      kind: "unknown",
      why: `Starts failed while a binary was missing (${missing.join(", ")} in the bin directory), so they say nothing about the data; restore the binary.`,
    };
  }
  if (sign !== undefined) {
    const doubts = [...listStartDoubts(starts, check), ...listCommonDoubts(evidence, check, limits)];
    const few = failedStartsMin - starts.length;
    if (few <= 0) return assessSigns([sign], doubts);
    const more = `a temporary fault (${starts.length} of ${failedStartsMin} consecutive starts failed in the same way)`;
    return { kind: "doubt", signs: [sign], missing: [more, ...doubts] };
  }
  const holds = mark?.block === undefined || hasKnownBlock(mark.block, check.block, check.height);
  return check.isHealthy && holds ? { kind: "sound" } : { kind: "unknown" };
}

function assessSigns(signs: readonly string[], missing: readonly string[]): DataAssessment {
  return missing.length === 0 ? { kind: "suspect", signs } : { kind: "doubt", signs, missing };
}

/** Lists the programs that the node's last run used and that are now missing or not executable. */
function findMissingPrograms({ mark }: DataEvidence, { programNames }: DataCheck): readonly string[] {
  return programNames === undefined ? [] : (mark?.programNames ?? []).filter((name) => !programNames.includes(name));
}

function findSameStarts(failedStarts: readonly FailedStart[]): readonly FailedStart[] {
  const kind = failedStarts.at(-1)?.kind;
  if (kind === undefined) return [];
  return failedStarts.slice(failedStarts.findLastIndex((start) => start.kind !== kind) + 1);
}

function findFailedStarts(
  starts: readonly FailedStart[],
  { mark }: DataEvidence,
  check: DataCheck,
): string | undefined {
  const last = starts.at(-1);
  if (last === undefined) return undefined;
  const count = starts.length === 1 ? "1 start" : `${starts.length} consecutive starts`;
  if (last.kind === "ended") {
    if (check.isAnswering) return undefined;
    const times = starts
      .map(({ atMs, afterMs = 0 }) => `${formatSeconds(afterMs)} at ${new Date(atMs).toISOString()}`)
      .join(", ");
    return `the node's process exited in ${count}, after ${times} (the last: ${last.message})`;
  }
  const { height } = check;
  if (mark === undefined || height === undefined || !check.isAnswering || height + settledBlocks >= mark.height)
    return undefined;
  return `the node is stuck at block ${height} after ${count}; it was at ${mark.height} before`;
}

function findOtherBlock({ mark }: DataEvidence, { height, block }: DataCheck): string | undefined {
  if (mark?.block === undefined) return undefined;
  const had = `block ${mark.block.number}, which had the hash ${mark.block.hash} at ${new Date(mark.atMs).toISOString()},`;
  const state = compareKnownBlock(mark.block, block, height);
  if (state === "missing") return `${had} is missing, though the node is at ${height}`;
  return state === "replaced" && block.kind === "found" ? `${had} now has the hash ${block.hash}` : undefined;
}

function* listBlockDoubts({ mark }: DataEvidence, check: DataCheck): Generator<string> {
  yield* listChainDoubts(check);
  if (mark?.genesis === undefined || check.genesis.kind !== "found")
    yield "a different chain (the node does not return its genesis block)";
  if (check.block.kind === "gone") yield* listSyncDoubts(check);
  const answered = check.references.filter(({ kind }) => kind !== "unknown");
  if (check.references.length === 0)
    yield "a reorganization (lag.references is empty, so the old hash can't be confirmed)";
  else if (answered.length === 0) yield "a reorganization (no reference returns that block)";
  else if (!answered.every((block) => block.kind === "found" && block.hash === mark?.block?.hash))
    yield "a reorganization (a reference has a different block there, too)";
}

function* listStartDoubts(starts: readonly FailedStart[], check: DataCheck): Generator<string> {
  const { healthyHash } = check;
  if (starts.some(({ configHash }) => healthyHash === undefined || configHash !== healthyHash))
    yield "node.conf (not all of these starts used the verified version, see RollbackReady)";
  if (starts.some(({ lackedMemory }) => lackedMemory))
    yield "lack of memory (the OOM killer ended a process during a start)";
  if (starts.at(-1)?.kind === "ended") {
    const slow = starts.find(({ afterMs = 0 }) => afterMs > endsWithinMs);
    if (slow !== undefined)
      yield `a later fault (one start ran for ${formatSeconds(slow.afterMs ?? 0)} before it exited)`;
    if (check.processes.length > 0)
      yield `a leftover node process (${check.processes.join(", ")}, in its bin directory)`;
    if (check.place.takenPorts.length > 0)
      yield `ports in use (another program listens on ${check.place.takenPorts.join(", ")})`;
    return;
  }
  yield* listChainDoubts(check);
  yield* listSyncDoubts(check);
  if (check.peers === undefined || check.peers === 0)
    yield `lack of peers (net_peerCount is ${check.peers ?? "unknown"})`;
  if (check.referenceHeight !== undefined && check.referenceHeight <= (check.height ?? 0))
    yield "a stalled chain (the references have no later block)";
}

function* listChainDoubts({ isExpectedChain }: DataCheck): Generator<string> {
  if (!isExpectedChain) yield "the wrong chain (see ChainIdMatches)";
}

function* listSyncDoubts({ isSyncing }: DataCheck): Generator<string> {
  if (isSyncing !== false) yield `a sync in progress (eth_syncing is ${isSyncing ?? "unknown"})`;
}

/** Lists what is still needed to rule out causes other than the data, for any sign. */
function* listCommonDoubts({ mark }: DataEvidence, check: DataCheck, { diskFreeRatio }: DataLimits): Generator<string> {
  const { place, programs, configHash, healthyHash, isStranded } = check;
  if (isStranded) yield "the failed upgrade (see UpgradeVerified)";
  if (healthyHash === undefined || configHash !== healthyHash)
    yield "node.conf (not the verified version, see RollbackReady)";
  if (mark === undefined) {
    yield "an older fault (the sidecar has not yet seen this node healthy)";
    return;
  }
  if (place.problem !== undefined) yield place.problem;
  if (place.freeRatio !== undefined && place.freeRatio < diskFreeRatio)
    yield `a full disk (${(place.freeRatio * 100).toFixed(1)} % of the data disk is free; health.diskFreeRatio requires ${diskFreeRatio * 100} %)`;
  if (place.missingKeys.length > 0) yield `missing key files (${place.missingKeys.join(", ")})`;
  if (mark.programs === undefined || programs !== mark.programs)
    yield "changed binaries (not those that the node last ran with)";
  if (place.dataInode !== undefined && mark.dataInode !== place.dataInode)
    yield "a replaced data directory (not the one that the node last ran with)";
}

function formatSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
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
