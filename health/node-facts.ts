import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import type { Observation } from "./observation.ts";

/** Conditions that a watch of the node's interfaces sets. */
type WatchedSide = "RpcAnswering" | "HeightAdvancing" | "HeightCurrent" | "WebSocketAnswering";

/** What is wrong with one side of the node: one word for machines, one sentence for people. */
export type NodeFault = Readonly<{ reason: ReasonOf<WatchedSide, "False">; message: string }>;

/**
 * What the watches of the node's interfaces found at their last looks; a side is absent until it was looked at. Decisions read these, and people
 * the conditions, which say the same.
 */
export type NodeFacts = Readonly<{
  /** Whether the RPC answers, and since when it does or does not, whatever the fault is called meanwhile (monotonic). */
  rpc?: Readonly<{ sinceMs: number; fault: NodeFault | undefined }>;
  chain?: "expected" | "another";
  height?: "advancing" | "idle" | "quiet" | NodeFault;
  /** The height beside that of the references; `unknown` when they, or the node, gave none. */
  lag?: "current" | "unknown" | NodeFault;
  webSocket?: "answering" | NodeFault;
}>;

/** The facts of one node, as its watches replace them. */
export type ObservedNode = Observation<NodeFacts>;

/** What is wrong, as a condition says it; undefined where nothing is. */
export function faultOf(report: ConditionReport<WatchedSide>): NodeFault | undefined {
  return report.status === "False" ? { reason: report.reason, message: report.message } : undefined;
}

/** Whether the RPC answers. */
export function isAnswering({ rpc }: NodeFacts): boolean {
  return rpc !== undefined && rpc.fault === undefined;
}

/** All that is wrong with the node's interfaces, the RPC itself first. The chain that it is on is no fault of the process. */
export function faultsOf({ rpc, height, lag, webSocket }: NodeFacts): readonly NodeFault[] {
  return [rpc?.fault, height, lag, webSocket].filter((side) => typeof side === "object");
}
