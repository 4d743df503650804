import type { ClaimLedger } from "./claim-ledger.ts";

/** Responses in the ledger: those that may be requested again, and those that were not taken yet. */
export type RetainedResponses = Readonly<{
  /** Forgets what nobody may request any more, and the oldest beyond the limit. */
  trim: () => Promise<void>;
  /** Whether another response for this payer may be kept: without room, nothing new is sold to it. */
  hasRoom: (payer: string) => boolean;
}>;

/** Most responses that are forgotten with one statement. */
const forgottenTogether = 100;

/** Part of the limit that any payer may fill; in the rest, a payer has a small share, so that one who takes nothing does not end the sales to others. */
const commonPart = 3 / 4;
const payerPart = 1 / 64;

/**
 * Creates the keeper of responses within `bytesMax`. Beyond its common part, delivered ones are forgotten first, then those that were never taken and
 * whose payment has expired; no response goes whose payment was charged and is still valid.
 */
export function keepResponses({ bytesMax }: Readonly<{ bytesMax: number }>, ledger: ClaimLedger): RetainedResponses {
  const commonBytes = bytesMax * commonPart;
  let bytes = 0;
  let large: ReadonlySet<string> = new Set();
  return {
    async trim() {
      await ledger.forgetResponses("expired");
      bytes = await ledger.responseBytes();
      for (const which of ["delivered", "untaken"] as const) {
        while (bytes > commonBytes && (await ledger.forgetResponses(which, forgottenTogether)) > 0)
          bytes = await ledger.responseBytes();
      }
      large = bytes > commonBytes ? await ledger.payersAbove(bytesMax * payerPart) : new Set();
    },
    hasRoom: (payer) => bytes <= commonBytes || (bytes <= bytesMax && !large.has(payer)),
  };
}
