import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { doubleWait } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import { keepNewest } from "./recent-verdicts.ts";

/** Who made a transaction fail that the chain accepted in its simulation. */
export type Culprit = "token" | "payer";

type Parties = Readonly<{ asset: Hex; payer: Hex }>;

/** Tokens and payers whose payments cost gas for nothing, and are rejected for a while: at first one minute, doubled by each failure. */
export type Suspensions = Readonly<{
  add: (culprit: Culprit, parties: Parties) => void;
  /** Forgets the failures of a token and a payer, of which a payment was settled. */
  end: (parties: Parties) => void;
  /** Returns why a payment is rejected now. */
  refuse: (parties: Parties) => Refusal | undefined;
}>;

const suspension = { initialMs: 60_000, maxMs: 3_600_000 };
const entriesMax = 1_000;

const causes: Readonly<Record<Culprit, string>> = {
  token: "failed a transfer that it had accepted in a simulation",
  payer: "cancelled a payment, or moved its funds, before it was settled",
};

/** Creates the suspensions of this process; the oldest is forgotten first. */
export function createSuspensions({
  monotonicMs,
  log,
}: Pick<Clock, "monotonicMs"> & Readonly<{ log: Logger }>): Suspensions {
  const entries = new Map<string, Readonly<{ failures: number; untilMs: number }>>();
  return {
    add: (culprit, parties) => {
      const name = nameOf(culprit, parties);
      const failures = (entries.get(name)?.failures ?? 0) + 1;
      const forMs = doubleWait(failures, suspension);
      keepNewest(entries, name, { failures, untilMs: monotonicMs() + forMs }, entriesMax);
      log.warn(
        { event: "payments-suspended", culprit, address: name, failures, forMs },
        `the ${culprit} ${causes[culprit]}; its payments are rejected for a while`,
      );
    },
    end: (parties) => {
      for (const culprit of ["token", "payer"] as const) entries.delete(nameOf(culprit, parties));
    },
    refuse: (parties) => {
      for (const culprit of ["token", "payer"] as const) {
        const name = nameOf(culprit, parties);
        const leftMs = (entries.get(name)?.untilMs ?? 0) - monotonicMs();
        if (leftMs <= 0) continue;
        const message = `the ${culprit} ${name} ${causes[culprit]}; its payments are rejected for another ${Math.ceil(leftMs / 1_000)} s.`;
        return { reason: reason.transaction, message };
      }
      return undefined;
    },
  };
}

function nameOf(culprit: Culprit, { asset, payer }: Parties): string {
  return (culprit === "token" ? asset : payer).toLowerCase();
}
