import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import { advancePace, judgeRhythm, type BlockPace, type BlockRhythm } from "./block-pace.ts";
import type { RpcFailureReason } from "./rpc-client.ts";
import type { Observation } from "./observation.ts";

/** Reason for which a look gave no answer. */
export type RpcLookFailure = Readonly<{
  reason: RpcFailureReason;
  message: string;
  /** Whether the port was seen closed, which a node that runs never does. */
  isPortClosed?: boolean;
}>;

/** A version that the node reported, and whether it has done so since it last began to answer: it may have been replaced meanwhile. */
export type ReportedVersion = Readonly<{ text: string; isCurrent: boolean }>;

/** Known state of the node's RPC; a plain value, replaced at each look. */
export type NodeHealth = Readonly<{
  /** Last height that was answered. */
  height?: number;
  /** Monotonic time of the first look that saw this height. */
  heightSinceMs?: number;
  /** Highest height that was ever answered. */
  highest?: number;
  /** Monotonic time since which the height has been below the highest. */
  lowerSinceMs?: number;
  pace?: BlockPace;
  /** Rhythm of the chain, judged by its pace. */
  rhythm?: BlockRhythm;
  /** Height at the first look, if its block was then so old by its own time that the chain was at rest before anybody watched it. */
  restingAt?: number;
  /** Last answer of the references; absent while none are configured. */
  reference?: ReferenceLook;
  /** Time that the last answer took. */
  latencyMs?: number;
  /** Failure of the last look; absent if it was answered. */
  failure?: RpcLookFailure;
  chainId?: number;
  clientVersion?: string;
  /** `binaryVersion` of `debug_protocolVersion`; absent where the node has never reported it. */
  binaryVersion?: ReportedVersion;
  /** Result of eth_syncing: false, or an object that says how far the node is. */
  syncing?: unknown;
  /** Wall time of the last answered look. */
  answeredAtMs?: number;
  /** The same, monotonic. */
  answeredMs?: number;
  /** Monotonic time of the last answered look before the port was seen closed: a process that has answered since began after that. */
  startedAfterMs?: number;
  /** Count of looks that were answered. */
  answers: number;
}>;

/** A look at the references: the median of their heights, undefined when none answered, and the monotonic time at which they were queried. */
export type ReferenceLook = Readonly<{ height: number | undefined; requestedAtMs: number }>;

/** Rules by which an answered look is judged. */
export type LookRules = Readonly<{
  /** Time after which a block counts as missing, and a node that stays lower than it was is believed. */
  staleAfterMs: number;
}>;

/** Before the first look. */
export const unknownHealth: NodeHealth = { answers: 0 };

/** Counts an answered look. */
export function countAnswer(
  before: NodeHealth,
  { height, latencyMs, nowMs }: Readonly<{ height: number; latencyMs: number; nowMs: number }>,
  rules: LookRules,
): NodeHealth {
  const { failure, lowerSinceMs: lowerBefore, ...rest } = before;
  const sinceMs = before.height === height ? before.heightSinceMs : undefined;
  const isNew = before.height !== undefined && height > before.height;
  const pauseMs = isNew ? nowMs - (before.heightSinceMs ?? nowMs) : undefined;
  const pace = advancePace(before.pace, { nowMs, wasAway: failure !== undefined, pauseMs }, rules.staleAfterMs);
  const isLower = height < (before.highest ?? height);
  const lowerSinceMs = isLower ? (lowerBefore ?? nowMs) : undefined;
  // References say themselves how far behind it is: one with older data catches up for hours, and has lost nothing more meanwhile.
  const isUnjudged = before.reference !== undefined && before.reference.height === undefined;
  const isBelieved = lowerSinceMs !== undefined && !isUnjudged && nowMs - lowerSinceMs > rules.staleAfterMs;
  return {
    ...rest,
    height,
    heightSinceMs: sinceMs ?? nowMs,
    highest: isBelieved ? height : Math.max(height, before.highest ?? 0),
    ...(lowerSinceMs === undefined || isBelieved ? {} : { lowerSinceMs }),
    pace,
    rhythm: judgeRhythm(pace, rules.staleAfterMs),
    latencyMs,
    answeredMs: nowMs,
    answers: before.answers + 1,
  };
}

/**
 * Puts what is known of a chain's heights in the place of what is known of another's: that of `known`, or nothing. The time in between counts as time
 * in which the node was away.
 */
export function changeChain(before: NodeHealth, known: NodeHealth | undefined, nowMs: number): NodeHealth {
  const {
    height: _height,
    heightSinceMs: _heightSinceMs,
    highest: _highest,
    lowerSinceMs: _lowerSinceMs,
    pace: _pace,
    rhythm: _rhythm,
    restingAt: _restingAt,
    ...rest
  } = before;
  const pace = known?.pace && { ...known.pace, atMs: nowMs, wasAway: true };
  return { ...known, ...rest, ...(pace && { pace }) };
}

/** Counts a look that failed; what was known stays, so that "since" goes on. */
export function countFailure(before: NodeHealth, failure: RpcLookFailure): NodeHealth {
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

/** Whether the RPC was queried at least once. */
export function hasBeenPolled({ answers, failure }: NodeHealth): boolean {
  return answers > 0 || failure !== undefined;
}

/** Whether the chain has no block that the node could show: so say the references or, without any, how blocks came before. */
export function isAtRest({ reference, rhythm, restingAt, height = 0 }: NodeHealth): boolean {
  if (reference !== undefined) return reference.height !== undefined && reference.height <= height;
  return rhythm === "irregular" || (rhythm !== "steady" && restingAt === height);
}

/** Conditions that a watch of the node's interfaces sets. */
type WatchedSide = "RpcResponding" | "HeightAdvancing" | "NodeSynced" | "WebSocketResponding";

/** A fault of the node: one word for machines, one sentence for people. */
export type NodeFault = Readonly<{ reason: ReasonOf<WatchedSide, "False">; message: string }>;

/** A node that is behind its references, and by how many blocks. */
export type Lag = NodeFault & Readonly<{ blocks: number }>;

/**
 * Findings of the watches of the node's interfaces at their last looks; a watch is absent until it has looked. Decisions read these, and people
 * the conditions, which say the same.
 */
export type NodeFacts = Readonly<{
  /** Whether the RPC answers, and since when it does or does not, whatever the fault is called meanwhile (monotonic). */
  rpc?: Readonly<{ sinceMs: number; fault: NodeFault | undefined }>;
  chain?: "expected" | "another";
  height?: "advancing" | "idle" | "quiet" | NodeFault;
  /** The height compared with that of the references; `unknown` when they gave none. */
  lag?: "current" | "unknown" | Lag;
  webSocket?: "answering" | NodeFault;
}>;

/** The facts of one node, as its watches replace them. */
export type ObservedNode = Observation<NodeFacts>;

/** Returns the fault that a condition reports; undefined if it reports none. */
export function findFault(report: ConditionReport<WatchedSide>): NodeFault | undefined {
  return report.status === "False" ? { reason: report.reason, message: report.message } : undefined;
}

/** Whether the RPC answers. */
export function isAnswering({ rpc }: NodeFacts): boolean {
  return rpc !== undefined && rpc.fault === undefined;
}

/** All that is wrong with the node's interfaces, the RPC itself first. The chain that it is on is no fault of the process. */
export function findFaults({ rpc, height, lag, webSocket }: NodeFacts): readonly NodeFault[] {
  return [rpc?.fault, height, lag, webSocket].filter((side) => typeof side === "object");
}
