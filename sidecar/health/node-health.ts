import type { RpcFailureReason } from "./rpc-client.ts";

/** Why a look gave no answer. */
type RpcLookFailure = Readonly<{ reason: RpcFailureReason; message: string }>;

/** What is known of the node's RPC; a plain value, replaced at each look. */
export type NodeHealth = Readonly<{
  /** Last height that was answered. */
  height?: number;
  /** Monotonic time of the first look that saw this height. */
  heightSinceMs?: number;
  /** Highest height that was ever answered. */
  highest?: number;
  /** Time that the last answer took. */
  latencyMs?: number;
  /** Why the last look gave no answer; absent when it did. */
  failure?: RpcLookFailure;
  chainId?: number;
  clientVersion?: string;
  /** What eth_syncing answered: false, or how far it is. */
  syncing?: unknown;
  /** Count of looks that were answered. */
  answers: number;
}>;

/** Before the first look. */
export const unknownHealth: NodeHealth = { answers: 0 };

/** Counts an answered look. */
export function answered(
  before: NodeHealth,
  { height, latencyMs, nowMs }: Readonly<{ height: number; latencyMs: number; nowMs: number }>,
): NodeHealth {
  const same = before.height === height && before.heightSinceMs !== undefined;
  const { failure: _, ...rest } = before;
  const heightSinceMs = same ? (before.heightSinceMs ?? nowMs) : nowMs;
  const highest = Math.max(height, before.highest ?? 0);
  return { ...rest, height, heightSinceMs, highest, latencyMs, answers: before.answers + 1 };
}

/** Counts a look that failed; what was known stays, so that "since" goes on. */
export function failed(before: NodeHealth, failure: RpcLookFailure): NodeHealth {
  return { ...before, failure };
}
