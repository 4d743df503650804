import { chainClockDifferenceMaxMs } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Chain } from "./chain.ts";

/** How long after its arrival a block is evidence about the clock: a chain that mines on demand may have no newer block. */
const recentMs = 60_000;

/** Newest block, and the time of the last check before it arrived; undefined for the first block that was seen. */
type ObservedBlock = Readonly<{ timestamp: number; absentAtMs: number | undefined }>;

/**
 * Creates a check of this process's clock against block times, by which tokens judge whether a payment is valid. It returns why payments
 * would be rejected, and logs each change. A clock is behind if a block is from its future. It is ahead if a block that
 * was missing at the last check is older than that check; while a node catches up with its chain, blocks say nothing.
 */
export function createClockWatch({
  chain,
  clock,
  log,
}: Readonly<{ chain: Pick<Chain, "head" | "syncing">; clock: () => number; log: Logger }>) {
  let latest: ObservedBlock | undefined;
  let checkedAtMs: number | undefined;
  let lastState: Readonly<{ isAhead: boolean; problem: string }> | undefined;

  const measureAheadMs = async (): Promise<number> => {
    const { timestamp } = await chain.head();
    const nowMs = clock();
    if (latest?.timestamp !== timestamp)
      latest = {
        timestamp,
        absentAtMs: latest !== undefined && timestamp > latest.timestamp ? checkedAtMs : undefined,
      };
    checkedAtMs = nowMs;
    const { absentAtMs } = latest;
    const blockMs = timestamp * 1_000;
    if (nowMs < blockMs) return nowMs - blockMs;
    if (absentAtMs === undefined || Math.abs(nowMs - absentAtMs) > recentMs) return 0;
    return absentAtMs - blockMs > chainClockDifferenceMaxMs && !(await chain.syncing()) ? absentAtMs - blockMs : 0;
  };

  /** @throws {ChainError} when the node doesn't respond. */
  return async (): Promise<string | undefined> => {
    const aheadMs = await measureAheadMs();
    if (Math.abs(aheadMs) <= chainClockDifferenceMaxMs) {
      if (lastState !== undefined) log.info({ event: "clock-corrected" }, "the clock agrees with the chain's again");
      lastState = undefined;
      return undefined;
    }
    const isAhead = aheadMs > 0;
    // The difference varies with each block, but the message should not.
    if (lastState?.isAhead === isAhead) return lastState.problem;
    const where = `${Math.round(Math.abs(aheadMs) / 1_000)} s ${isAhead ? "ahead of" : "behind"} the chain's newest block`;
    const effect = isAhead ? "expired" : "not yet valid";
    const also = isAhead ? ", unless the node is catching up with its chain" : "";
    const problem = `the facilitator's clock is ${where}, so payments are rejected as ${effect}; correct it (timedatectl set-ntp true)${also}`;
    log.warn({ event: "clock-wrong", problem }, `no payment can be settled: ${problem}`);
    lastState = { isAhead, problem };
    return problem;
  };
}
