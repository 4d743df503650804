import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import { pauseInBackground, repeat, type Pause } from "#daemon/time.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";
import { recordOutcome, resumeClaim, type SaleParts } from "./claim-settlement.ts";

/** Max claims per check, and how many of them are settled concurrently. */
const claimsPerRunMax = 100;
const parallelMax = 4;

/**
 * Resolves settlements with an unknown outcome, whether or not their client retries: those of a killed process, and those without a
 * response from the facilitator. Runs until disposed; also releases claims of exited processes, and deletes ended claims and undelivered
 * responses after `retentionMs`.
 */
export function resumeSettlements(
  { intervalMs, retentionMs }: Readonly<{ intervalMs: number; retentionMs: number }>,
  parts: SaleParts & Readonly<{ log: Logger; pause?: Pause }>,
): AsyncDisposable {
  const { ledger, log, pause = pauseInBackground } = parts;
  const lines = createBoundedLog(log, { lines: 1, everyMs: 60_000 });

  /** Releases claims that this process still owns because a request's end could not be recorded. */
  async function releaseOrphans(): Promise<void> {
    for (const { key, isWorking } of await ledger.owned(claimsPerRunMax))
      await runUnlessInUse(key, parts, () => (isWorking ? ledger.release(key) : ledger.disown(key)));
  }

  async function resumeDue(signal: AbortSignal): Promise<void> {
    await releaseOrphans();
    const count = await ledger.releaseAbandoned();
    if (count > 0)
      log.warn(
        { event: "claims-released", released: count },
        "released payments that a process was handling when it exited",
      );
    const claims = (await ledger.unsettled(claimsPerRunMax)).values();
    const worker = async () => {
      for (const claim of claims) {
        if (signal.aborted) return;
        await resumeSettlement(claim, parts);
      }
    };
    await Promise.all(Array.from({ length: parallelMax }, worker));
    await ledger.trim(retentionMs);
  }

  const reportFailure = (error: unknown) =>
    lines.error({ event: "settlements-not-resumed", err: error }, "can't resume settlements; retrying");
  return repeat(resumeDue, { intervalMs, failed: reportFailure }, { pause });
}

/** Resumes a settlement with an unknown outcome, unless a request is working on the same payment. */
export function resumeSettlement({ key }: Pick<PaymentClaim, "key">, parts: SaleParts): Promise<void> {
  const { ledger, facilitation } = parts;
  return runUnlessInUse(key, parts, async () => {
    const claim = await ledger.acquire(key);
    if (claim?.state === "settling") await recordOutcome(claim, await resumeClaim(claim, facilitation), parts);
    await ledger.disown(key);
  });
}

async function runUnlessInUse(
  key: PaymentClaim["key"],
  { payments }: SaleParts,
  step: () => Promise<void>,
): Promise<void> {
  if (!payments.acquire(key)) return;
  try {
    await step();
  } finally {
    payments.release(key);
  }
}
