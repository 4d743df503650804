import { chainClockDifferenceMaxMs } from "#daemon/clock.ts";
import type { CheckTime } from "./rpc-conditions.ts";
import type { RpcState } from "./rpc-state.ts";

/**
 * Explains by how much this machine's clock differs from the timestamp of the block at the node's height; empty if the difference is
 * small. A clock is behind if the block is from its future. It is ahead if the block was old when it arrived, which is known only while
 * blocks arrive steadily, and says nothing about a node that catches up.
 */
export function explainClockDifference(
  blockMs: number,
  { height, heightSinceMs, cadence, syncing }: RpcState,
  { wallMs, monotonicMs }: CheckTime,
): string {
  const behindMs = blockMs - wallMs;
  if (behindMs > chainClockDifferenceMaxMs) {
    return ` The timestamp of block ${height} was ${formatSeconds(behindMs)} in the future: this machine's clock is behind (run timedatectl set-ntp true), or the block producers' is ahead.`;
  }
  if (heightSinceMs === undefined || cadence !== "steady" || syncing !== false) return "";
  const aheadMs = wallMs - (monotonicMs - heightSinceMs) - blockMs;
  if (aheadMs <= chainClockDifferenceMaxMs) return "";
  return ` Block ${height} was already ${formatSeconds(aheadMs)} old when it arrived, according to its timestamp: this machine's clock is ahead (run timedatectl set-ntp true), or the node is catching up.`;
}

const formatSeconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
