import type { Logger } from "#daemon/log/log.ts";
import { deletedMax, type ClaimLedger } from "../claims/claim-ledger.ts";
import { deleteInBatches, type RetainedResponses } from "../claims/retained-responses.ts";
import { pauseInBackground, repeat, type Pause } from "#daemon/time.ts";
import { resumeSettlement, type SaleDependencies } from "./sale.ts";

export type SettlementResumerOptions = Readonly<{
  intervalMs: number;
  /** Retention time of ended claims and undelivered responses. */
  retentionMs: number;
}>;

export type SettlementResumerDependencies = SaleDependencies &
  Readonly<{ ledger: ClaimLedger; responses: Pick<RetainedResponses, "trim">; log: Logger; pause?: Pause }>;

/** Max claims per check, and how many of them are settled concurrently. */
const claimsPerRunMax = 100;
const parallelMax = 4;

/**
 * Resolves settlements with an unknown outcome, whether or not their client returns: those of a killed process, and those for which a
 * facilitator had no response. Runs until disposed; also releases claims of exited processes, and deletes old ones.
 */
export function resumeSettlements(
  options: SettlementResumerOptions,
  dependencies: SettlementResumerDependencies,
): AsyncDisposable {
  const { ledger, owners, responses, log, clock, pause = pauseInBackground } = dependencies;

  /** Releases claims that this process owns in the ledger without a request working on them, because the end of their request could not be written. */
  async function releaseOrphans(): Promise<void> {
    for (const { key, isWorking } of await ledger.owned(claimsPerRunMax)) {
      if (!owners.acquire(key)) continue;
      try {
        await (isWorking ? ledger.release(key) : ledger.disown(key));
      } finally {
        owners.release(key);
      }
    }
  }

  async function resumeDue(signal: AbortSignal): Promise<void> {
    await releaseOrphans();
    const released = await ledger.releaseAbandoned();
    if (released > 0)
      log.warn({ event: "claims-released", released }, "released payments that a process was handling when it exited");
    const claims = (await ledger.unsettled(claimsPerRunMax))[Symbol.iterator]();
    const worker = async () => {
      for (const claim of claims) {
        if (signal.aborted) return;
        await resumeSettlement(claim, dependencies);
      }
    };
    await Promise.all(Array.from({ length: parallelMax }, worker));
    await responses.trim();
    await deleteInBatches(() => ledger.forget(clock() - options.retentionMs), deletedMax);
  }

  const failed = (error: unknown) =>
    log.error({ event: "settlements-not-resumed", err: error }, "can't resume settlements; retrying");
  return repeat(resumeDue, { intervalMs: options.intervalMs, failed }, { pause });
}
