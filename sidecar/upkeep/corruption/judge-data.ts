import { settledBlocks } from "#node/settled-block.ts";
import type { BlockCheck } from "../../upgrade/node-rpc.ts";
import type { DataEvidence, FailedStart } from "../state/data-evidence.ts";
import type { DataLocation } from "./data-place.ts";
import { compareKnownBlock, hasKnownBlock } from "./known-block.ts";

/** One check for evidence against a node's data. */
export type DataCheck = Readonly<{
  isAnswering: boolean;
  /** Whether the node responds on the expected chain, and either its height advances or the chain has no block to produce. */
  isWell: boolean;
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
  /** Processes found in the bin directory. */
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
  /** `why`: starts failed, but they are not evidence about the data. */
  | { kind: "unknown"; why?: string }
  | { kind: "doubt"; signs: readonly string[]; missing: readonly string[] }
  | { kind: "suspect"; signs: readonly string[] }
>;

/** Min number of consecutive failed starts with a good node.conf. */
export const failedStartsMin = 3;

/** A process that runs longer than this before it exits may have been working, e.g. replaying its log. */
const endsWithinMs = 120_000;

/**
 * Judges the evidence against a node's data. There are three signs: the process exits soon after each start; the head stays far below its
 * previous height; a block too deep for a reorganisation is replaced or missing. Each sign counts only once every other checkable cause is
 * ruled out; the verdict lists the checks that are still missing. A start that failed because a program is missing is not evidence. Pure.
 */
export function judgeData(evidence: DataEvidence, look: DataCheck, limits: DataLimits): DataAssessment {
  const { mark, failedStarts } = evidence;
  const { genesis } = look;
  const isOther = mark?.genesis !== undefined && genesis.kind === "found" && genesis.hash !== mark.genesis;
  if (look.isAnswering && isOther) return { kind: "another-chain" };
  const other = findOtherBlock(evidence, look);
  if (other !== undefined) {
    return judgeSigns([other], [...listBlockDoubts(evidence, look), ...listCommonDoubts(evidence, look, limits)]);
  }
  const starts = findSameStarts(failedStarts);
  const sign = findFailedStarts(starts, evidence, look);
  const missing = findMissingPrograms(evidence, look);
  if (sign !== undefined && starts.at(-1)?.kind === "ended" && missing.length > 0) {
    return {
      kind: "unknown",
      why: `Starts failed while a program was missing (${missing.join(", ")} in the bin directory), which says nothing of the data; put it back.`,
    };
  }
  if (sign !== undefined) {
    const doubts = [...listStartDoubts(starts, look), ...listCommonDoubts(evidence, look, limits)];
    const few = failedStartsMin - starts.length;
    if (few <= 0) return judgeSigns([sign], doubts);
    const more = `${failedStartsMin} starts in a row that fail alike (there ${starts.length === 1 ? "is 1" : `are ${starts.length}`})`;
    return { kind: "doubt", signs: [sign], missing: [more, ...doubts] };
  }
  const holds = mark?.block === undefined || hasKnownBlock(mark.block, look.block, look.height);
  return look.isWell && holds ? { kind: "sound" } : { kind: "unknown" };
}

function judgeSigns(signs: readonly string[], missing: readonly string[]): DataAssessment {
  return missing.length === 0 ? { kind: "suspect", signs } : { kind: "doubt", signs, missing };
}

/** Lists the programs that the node's last run used and that are now missing or not executable. */
function findMissingPrograms({ mark }: DataEvidence, { programNames }: DataCheck): readonly string[] {
  return programNames === undefined ? [] : (mark?.programNames ?? []).filter((name) => !programNames.includes(name));
}

/** Finds the most recent starts that failed in the same way. */
function findSameStarts(failedStarts: readonly FailedStart[]): readonly FailedStart[] {
  const kind = failedStarts.at(-1)?.kind;
  if (kind === undefined) return [];
  return failedStarts.slice(failedStarts.findLastIndex((start) => start.kind !== kind) + 1);
}

function findFailedStarts(starts: readonly FailedStart[], { mark }: DataEvidence, look: DataCheck): string | undefined {
  const last = starts.at(-1);
  if (last === undefined) return undefined;
  const count = starts.length === 1 ? "1 start" : `${starts.length} starts in a row`;
  if (last.kind === "ended") {
    if (look.isAnswering) return undefined;
    const times = starts
      .map(({ atMs, afterMs = 0 }) => `${formatSeconds(afterMs)} at ${new Date(atMs).toISOString()}`)
      .join(", ");
    return `the node's process ended in ${count}, after ${times} (the last: ${last.message})`;
  }
  const { height } = look;
  if (mark === undefined || height === undefined || !look.isAnswering || height + settledBlocks >= mark.height)
    return undefined;
  return `the node stands at block ${height} after ${count}, and was at ${mark.height} before`;
}

function findOtherBlock({ mark }: DataEvidence, { height, block }: DataCheck): string | undefined {
  if (mark?.block === undefined) return undefined;
  const had = `block ${mark.block.number}, which had the hash ${mark.block.hash} at ${new Date(mark.atMs).toISOString()},`;
  const state = compareKnownBlock(mark.block, block, height);
  if (state === "missing") return `${had} is gone, and the node is at ${height}`;
  return state === "replaced" && block.kind === "found" ? `${had} has the hash ${block.hash}` : undefined;
}

function* listBlockDoubts({ mark }: DataEvidence, look: DataCheck): Generator<string> {
  yield* listChainDoubts(look);
  if (mark?.genesis === undefined || look.genesis.kind !== "found")
    yield "that it is the same chain (the node does not return its first block)";
  if (look.block.kind === "gone") yield* listSyncDoubts(look);
  const answered = look.references.filter(({ kind }) => kind !== "unknown");
  if (look.references.length === 0) yield "another node's word for the old hash (lag.references is empty)";
  else if (answered.length === 0) yield "another node's word for the old hash (no reference returns that block)";
  else if (!answered.every((block) => block.kind === "found" && block.hash === mark?.block?.hash))
    yield "another node's word for the old hash (a reference has another block there, too)";
}

function* listStartDoubts(starts: readonly FailedStart[], look: DataCheck): Generator<string> {
  const { healthyHash } = look;
  if (starts.some(({ configHash }) => healthyHash === undefined || configHash !== healthyHash))
    yield "that each of these starts was made with the node.conf that the node is known to have advanced with (RollbackReady)";
  if (starts.some(({ lackedMemory }) => lackedMemory))
    yield "enough memory (the system killed a process for lack of it during a start)";
  if (starts.at(-1)?.kind === "ended") {
    const slow = starts.find(({ afterMs = 0 }) => afterMs > endsWithinMs);
    if (slow !== undefined)
      yield `an end soon after each start (one ran for ${formatSeconds(slow.afterMs ?? 0)} before)`;
    if (look.processes.length > 0)
      yield `that nothing of the node runs any more (process ${look.processes.join(", ")} does, in its bin directory)`;
    if (look.place.takenPorts.length > 0)
      yield `free ports (another program listens on ${look.place.takenPorts.join(", ")})`;
    return;
  }
  yield* listChainDoubts(look);
  yield* listSyncDoubts(look);
  if (look.peers === undefined || look.peers === 0)
    yield `peers to fetch blocks from (net_peerCount is ${look.peers ?? "not known"})`;
  if (look.referenceHeight !== undefined && look.referenceHeight <= (look.height ?? 0))
    yield "a chain that goes on (the references have no later block)";
}

function* listChainDoubts({ isExpectedChain }: DataCheck): Generator<string> {
  if (!isExpectedChain) yield "that it is the expected chain (ChainIdMatches)";
}

function* listSyncDoubts({ isSyncing }: DataCheck): Generator<string> {
  if (isSyncing !== false) yield `that the node is not at work (eth_syncing is ${isSyncing ?? "not known"})`;
}

/** Lists what is still needed to rule out causes other than the data, for any sign. */
function* listCommonDoubts({ mark }: DataEvidence, look: DataCheck, { diskFreeRatio }: DataLimits): Generator<string> {
  const { place, programs, configHash, healthyHash, isStranded } = look;
  if (isStranded) yield "an end of the upgrade that is stranded (UpgradeVerified)";
  if (healthyHash === undefined || configHash !== healthyHash)
    yield "that node.conf is the one that the node is known to have advanced with (RollbackReady)";
  if (mark === undefined) {
    yield "how the node was when it was well (the sidecar has not seen it so)";
    return;
  }
  if (place.problem !== undefined) yield place.problem;
  if (place.freeRatio !== undefined && place.freeRatio < diskFreeRatio)
    yield `room on the disk of the data (${(place.freeRatio * 100).toFixed(1)} % are free; health.diskFreeRatio requires ${diskFreeRatio * 100} %)`;
  if (place.missingKeys.length > 0) yield `the key files of node.conf (${place.missingKeys.join(", ")} is not there)`;
  if (mark.programs === undefined || programs !== mark.programs)
    yield "that the programs are those that the node last ran with";
  if (place.dataInode !== undefined && mark.dataInode !== place.dataInode)
    yield "that the data directory is the one that the node last ran with (somebody put another in its place)";
}

function formatSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
