import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import { advancePace, deriveCadence, type BlockPace, type BlockCadence } from "./block-pace.ts";
import type { RpcFailureReason } from "./rpc-client.ts";
import type { Observation } from "./observation.ts";

export type RpcCheckFailure = Readonly<{
  reason: RpcFailureReason;
  message: string;
  /** Whether the port was found to be closed, which never happens while the node runs. */
  isPortClosed?: boolean;
}>;

/** A version reported by the node, and whether it was reported after the node last started to respond: if not, the node may have been replaced since. */
export type ReportedVersion = Readonly<{ text: string; isCurrent: boolean }>;

/** Known state of the node's RPC. A plain value, replaced at each check. */
export type RpcState = Readonly<{
  /** Last reported height. */
  height?: number;
  /** Monotonic time of the first check that saw this height. */
  heightSinceMs?: number;
  highest?: number;
  /** Monotonic time from which the height has been below the highest. */
  lowerSinceMs?: number;
  pace?: BlockPace;
  /** Rhythm of the chain, derived from its pace. */
  cadence?: BlockCadence;
  /** Height at the first check, if its block's own timestamp was then so old that the chain was idle before the watch started. */
  idleAt?: number;
  /** Sentence about a difference between this machine's clock and the timestamp of the last block read; empty if they agree. */
  clockDifference?: string;
  /** Last check of the references; absent if none are configured. */
  reference?: ReferenceCheck;
  /** Latency of the last response. */
  latencyMs?: number;
  /** Failure of the last check; absent if it succeeded. */
  failure?: RpcCheckFailure;
  chainId?: number;
  clientVersion?: string;
  /** `binaryVersion` from `debug_protocolVersion`; absent if the node has never reported it. */
  binaryVersion?: ReportedVersion;
  /** Result of eth_syncing: false, or an object that describes the node's progress. */
  syncing?: unknown;
  /** Wall time of the last successful check. */
  answeredAtMs?: number;
  /** Monotonic time of the last successful check. */
  answeredMs?: number;
  /** Monotonic time of the last successful check before the port was found to be closed: if a process has responded since, it started after that time. */
  startedAfterMs?: number;
  answers: number;
}>;

/** A check of the references: the median of their heights, undefined if none responded, and the monotonic time at which they were queried. */
export type ReferenceCheck = Readonly<{ height: number | undefined; requestedAtMs: number }>;

export const unknownHealth: RpcState = { answers: 0 };

/** @param staleAfterMs time after which a block counts as missing, and after which a lower height is accepted as real. */
export function countResponse(
  before: RpcState,
  { height, latencyMs, nowMs }: Readonly<{ height: number; latencyMs: number; nowMs: number }>,
  { staleAfterMs }: Readonly<{ staleAfterMs: number }>,
): RpcState {
  const { failure, lowerSinceMs: lowerBefore, ...rest } = before;
  const sinceMs = before.height === height ? before.heightSinceMs : undefined;
  const isNew = before.height !== undefined && height > before.height;
  const pauseMs = isNew ? nowMs - (before.heightSinceMs ?? nowMs) : undefined;
  const pace = advancePace(before.pace, { nowMs, wasUnreachable: failure !== undefined, pauseMs }, staleAfterMs);
  const isLower = height < (before.highest ?? height);
  const lowerSinceMs = isLower ? (lowerBefore ?? nowMs) : undefined;
  // References show how far behind the node is: a node with older data catches up for hours, and has not lost anything more in that time.
  const isUnchecked = before.reference !== undefined && before.reference.height === undefined;
  const isBelieved = lowerSinceMs !== undefined && !isUnchecked && nowMs - lowerSinceMs > staleAfterMs;
  return {
    ...rest,
    height,
    heightSinceMs: sinceMs ?? nowMs,
    highest: isBelieved ? height : Math.max(height, before.highest ?? 0),
    ...(lowerSinceMs === undefined || isBelieved ? {} : { lowerSinceMs }),
    pace,
    cadence: deriveCadence(pace, staleAfterMs),
    latencyMs,
    answeredMs: nowMs,
    answers: before.answers + 1,
  };
}

/**
 * Replaces the known heights on one chain with those on another: the ones in `known`, or none. The node counts as
 * unavailable in between.
 */
export function resetForChain(before: RpcState, known: RpcState | undefined, nowMs: number): RpcState {
  const {
    height: _height,
    heightSinceMs: _heightSinceMs,
    highest: _highest,
    lowerSinceMs: _lowerSinceMs,
    pace: _pace,
    cadence: _rhythm,
    idleAt: _restingAt,
    ...rest
  } = before;
  const pace = known?.pace && { ...known.pace, atMs: nowMs, wasUnreachable: true };
  return { ...known, ...rest, clockDifference: "", ...(pace && { pace }) };
}

/** Counts a failed check. The known state is kept, so that "since" times continue. */
export function countFailure(before: RpcState, failure: RpcCheckFailure): RpcState {
  const { binaryVersion, answeredMs } = before;
  const isClosed = failure.isPortClosed === true && answeredMs !== undefined;
  const began = isClosed ? { startedAfterMs: answeredMs } : {};
  return {
    ...before,
    ...began,
    failure,
    ...(binaryVersion && { binaryVersion: { ...binaryVersion, isCurrent: false } }),
  };
}

export function hasBeenPolled({ answers, failure }: RpcState): boolean {
  return answers > 0 || failure !== undefined;
}

/** Returns whether the chain has no new block that the node could report, according to the references or, if there are none, to the previous pace of blocks. */
export function isIdle({ reference, cadence, idleAt, height = 0 }: RpcState): boolean {
  if (reference !== undefined) return reference.height !== undefined && reference.height <= height;
  return cadence === "irregular" || (cadence !== "steady" && idleAt === height);
}

/** Conditions set by the watches on the node's interfaces. */
type WatchedSide = "RpcResponding" | "HeightAdvancing" | "NodeSynced" | "WebSocketResponding";

/** A fault in the node: one word for machines, one sentence for humans. */
export type NodeFault = Readonly<{ reason: ReasonOf<WatchedSide, "False">; message: string }>;

/** How far a node is behind its references, in blocks, as a fault. */
export type Lag = NodeFault & Readonly<{ blocks: number }>;

/**
 * Findings of the watches on the node's interfaces at their last checks; the finding of a watch is absent until its first check. Decisions
 * use these; the conditions report the same to humans.
 */
export type NodeInfo = Readonly<{
  /** Whether the RPC responds, and since when this has been the case (monotonic). The time does not change if only the reason of the fault changes. */
  rpc?: Readonly<{ sinceMs: number; fault: NodeFault | undefined }>;
  chain?: "expected" | "another";
  height?: "advancing" | "idle" | "quiet" | NodeFault;
  /** The height compared with the references' height; `unknown` if the references returned none. */
  lag?: "current" | "unknown" | Lag;
  webSocket?: "answering" | NodeFault;
}>;

/** The facts about one node, replaced by its watches. */
export type ObservedNode = Observation<NodeInfo>;

export function findFault(report: ConditionReport<WatchedSide>): NodeFault | undefined {
  return report.status === "False" ? { reason: report.reason, message: report.message } : undefined;
}

export function isResponding({ rpc }: NodeInfo): boolean {
  return rpc !== undefined && rpc.fault === undefined;
}

/** Returns all faults in the node's interfaces, those of the RPC first. A wrong chain is not a fault of the process. */
export function findFaults({ rpc, height, lag, webSocket }: NodeInfo): readonly NodeFault[] {
  return [rpc?.fault, height, lag, webSocket].filter((side) => typeof side === "object");
}
