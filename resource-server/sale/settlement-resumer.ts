import type { Logger } from "#daemon/log/log.ts";
import { pauseInBackground, repeat, type Pause } from "#daemon/time.ts";
import { deleteInRounds, type RetainedResponses } from "../claims/retained-responses.ts";
import type { SaleParts } from "./claim-settlement.ts";
import { resumeSettlement } from "./sale.ts";

/** Max claims per check, and how many of them are settled concurrently. */
const claimsPerRunMax = 100;
const parallelMax = 4;

/**
 * Resolves settlements with an unknown outcome, whether or not their client returns: those of a killed process, and those for which a
 * facilitator had no response. Runs until disposed; also releases claims of exited processes, and deletes ended claims and undelivered
 * responses after `retentionMs`.
 */
export function resumeSettlements(
  { intervalMs, retentionMs }: Readonly<{ intervalMs: number; retentionMs: number }>,
  parts: SaleParts & Readonly<{ responses: Pick<RetainedResponses, "trim">; log: Logger; pause?: Pause }>,
): AsyncDisposable {
  const { ledger, payments, responses, log, clock, pause = pauseInBackground } = parts;

  /** Releases claims that this process owns without a request working on them, because the end of their request could not be written. */
  async function releaseOrphans(): Promise<void> {
    for (const { key, isWorking } of await ledger.owned(claimsPerRunMax)) {
      if (!payments.acquire(key)) continue;
      try {
        await (isWorking ? ledger.release(key) : ledger.disown(key));
      } finally {
        payments.release(key);
      }
    }
  }

  async function resumeDue(signal: AbortSignal): Promise<void> {
    await releaseOrphans();
    const released = await ledger.releaseAbandoned();
    if (released > 0)
      log.warn({ event: "claims-released", released }, "released payments that a process was handling when it exited");
    const claims = (await ledger.unsettled(claimsPerRunMax)).values();
    const worker = async () => {
      for (const claim of claims) {
        if (signal.aborted) return;
        await resumeSettlement(claim, parts);
      }
    };
    await Promise.all(Array.from({ length: parallelMax }, worker));
    await responses.trim();
    await deleteInRounds(() => ledger.forget(clock() - retentionMs));
  }

  const failed = (error: unknown) =>
    log.error({ event: "settlements-not-resumed", err: error }, "can't resume settlements; retrying");
  return repeat(resumeDue, { intervalMs, failed }, { pause });
}
