import { createRetentionClock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { repeat, type Pause } from "#daemon/time.ts";
import type { Ownership } from "../ownership.ts";
import type { Ledger } from "./ledger.ts";
import type { Sales } from "./sales.ts";

/**
 * Lifetime of a payment's verification record after the last verification, while no settlement of it is recorded. If a seller's upstream
 * takes longer than this, several copies of a payment may each get a success.
 */
export const noteLifeMs = 3_600_000;

/**
 * Max rows deleted in one step, on the thread that serves payments, and the pause until the next step. In a ledger of millions of rows,
 * each deletion changes several pages, so deletions may use a tenth of the time.
 */
export const retentionStep = { rowsMax: 50, pausePerStep: 9, pauseMinMs: 10, pauseMaxMs: 1_000 };

export const retentionIntervalMs = 600_000;

const dayMs = 86_400_000;

export type RetentionDependencies = Readonly<{
  ledger: Pick<Ledger, "prune">;
  ownership: Pick<Ownership, "forgetNotes">;
  sales: Pick<Sales, "forget">;
  clock: () => number;
  monotonicMs: () => number;
  pause: Pause;
  log: Logger;
}>;

/** Deletes old settlements, sales and verification records, now and every ten minutes. Disposal stops after the current step. */
export function startRetention(
  { retentionDays }: Readonly<{ retentionDays: number }>,
  { ledger, ownership, sales, clock, monotonicMs, pause, log }: RetentionDependencies,
): AsyncDisposable {
  const retentionClock = createRetentionClock({ wallMs: clock, monotonicMs });
  const pauseBetweenSteps = async (beganMs: number, signal: AbortSignal): Promise<void> => {
    const { pausePerStep, pauseMinMs, pauseMaxMs } = retentionStep;
    const wantedMs = pausePerStep * (monotonicMs() - beganMs);
    await pause(Math.min(Math.max(wantedMs, pauseMinMs), pauseMaxMs), signal);
  };
  const forgetRows = async (forget: Ledger["prune"], beforeMs: number, signal: AbortSignal): Promise<number> => {
    let deletedCount = 0;
    while (!signal.aborted) {
      const beganMs = monotonicMs();
      const rows = await forget(beforeMs, retentionStep.rowsMax);
      deletedCount += rows;
      if (rows < retentionStep.rowsMax) break;
      await pauseBetweenSteps(beganMs, signal);
    }
    return deletedCount;
  };
  const forgetNotes = async (beforeMs: number, signal: AbortSignal): Promise<void> => {
    let fromMs: number | undefined = 0;
    while (!signal.aborted) {
      const beganMs = monotonicMs();
      fromMs = await ownership.forgetNotes({ fromMs, beforeMs }, retentionStep.rowsMax);
      if (fromMs === undefined) return;
      await pauseBetweenSteps(beganMs, signal);
    }
  };
  const forgetOld = async (signal: AbortSignal): Promise<void> => {
    const nowMs = retentionClock();
    const beforeMs = nowMs - retentionDays * dayMs;
    const settlements = await forgetRows(ledger.prune, beforeMs, signal);
    await forgetRows(sales.forget, beforeMs, signal);
    if (settlements > 0)
      log.info({ event: "settlements-deleted", settlements, retentionDays }, "deleted old settlements");
    await forgetNotes(nowMs - noteLifeMs, signal);
  };
  const onFailure = (error: unknown): void =>
    log.error(
      { event: "settlements-not-deleted", err: error },
      "can't delete old settlements; retrying in ten minutes",
    );
  return repeat(forgetOld, { intervalMs: retentionIntervalMs, failed: onFailure }, { pause });
}
