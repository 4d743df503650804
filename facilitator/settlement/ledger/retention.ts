import type { Logger } from "#daemon/log.ts";
import type { Ledger } from "./ledger.ts";

const dayMs = 86_400_000;
const pruneIntervalMs = 3_600_000;

/** Forgets settlements that were finished long ago, now and every hour. Disposing of it ends that. */
export function startRetention(
  { retentionDays }: Readonly<{ retentionDays: number }>,
  { ledger, clock, log }: Readonly<{ ledger: Pick<Ledger, "prune">; clock: () => number; log: Logger }>,
): AsyncDisposable {
  const prune = async () => {
    try {
      const settlements = await ledger.prune(clock() - retentionDays * dayMs);
      if (settlements > 0) log.info({ settlements, retentionDays }, "forgot old settlements");
    } catch (error) {
      log.error({ err: error }, "can't forget old settlements; trying again in an hour");
    }
  };
  let pruning = prune();
  const timer = setInterval(() => (pruning = prune()), pruneIntervalMs).unref();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await pruning;
    },
  };
}
