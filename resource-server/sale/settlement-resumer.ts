import type { Logger } from "#daemon/log/log.ts";
import type { ClaimLedger } from "../claims/claim-ledger.ts";
import type { RetainedResponses } from "../claims/retained-responses.ts";
import { pauseInBackground } from "#daemon/time.ts";
import { resumeSettlement, type SaleDependencies } from "./sale.ts";

export type SettlementResumerOptions = Readonly<{
  intervalMs: number;
  /** Time for which ended claims and undelivered responses are kept. */
  retentionMs: number;
}>;

export type SettlementResumerDependencies = SaleDependencies &
  Readonly<{ ledger: ClaimLedger; responses: Pick<RetainedResponses, "trim">; log: Logger }>;

/** Claims of one look, and how many of them are settled at one time. */
const claimsPerLookMax = 100;
const parallelMax = 4;

/**
 * Brings settlements with an unknown outcome to their end, whether their client comes again or not: what a process left that
 * was killed, and what a facilitator could not answer. Runs until it is disposed of; also gives free what processes left that are
 * gone, and forgets what is old.
 */
export function resumeSettlements(
  options: SettlementResumerOptions,
  dependencies: SettlementResumerDependencies,
): AsyncDisposable {
  const { ledger, owners, responses, log, clock } = dependencies;
  const stop = new AbortController();

  /** Releases what this process owns by the ledger and no request of it works on: the end of a request could not be written. */
  async function releaseOrphans(): Promise<void> {
    for (const { key, isWorking } of await ledger.owned(claimsPerLookMax)) {
      if (!owners.acquire(key)) continue;
      try {
        await (isWorking ? ledger.release(key) : ledger.disown(key));
      } finally {
        owners.release(key);
      }
    }
  }

  async function look(): Promise<void> {
    await releaseOrphans();
    const released = await ledger.releaseAbandoned();
    if (released > 0)
      log.warn({ event: "claims-released", released }, "released payments that a process was working on when it ended");
    const claims = (await ledger.unsettled(claimsPerLookMax))[Symbol.iterator]();
    const worker = async () => {
      for (const claim of claims) {
        if (stop.signal.aborted) return;
        await resumeSettlement(claim, dependencies);
      }
    };
    await Promise.all(Array.from({ length: parallelMax }, worker));
    await responses.trim();
    await ledger.forget(clock() - options.retentionMs);
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        await look();
      } catch (error) {
        log.error({ event: "settlements-not-taken-up", err: error }, "settlements can't be taken up; trying again");
      }
      await pauseInBackground(options.intervalMs, stop.signal);
    }
  }

  const running = run();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
