import { deletedMax, type ClaimLedger } from "./claim-ledger.ts";

/** Responses in the ledger: those that may be requested again, and those not fetched yet. */
export type RetainedResponses = Readonly<{
  /** Deletes responses that can no longer be requested, and the oldest ones above the limit. */
  trim: () => Promise<void>;
  /** Returns whether another response for this payer may be retained; if not, it can't buy anything new. */
  hasRoom: (payer: string) => boolean;
}>;

/** Max responses deleted with one statement. */
const forgottenTogether = 100;

/**
 * Part of the limit that any payer may fill; of the rest, each payer gets a small share, so that a payer that fetches nothing does not
 * block sales to others.
 */
const commonPart = 3 / 4;
const payerPart = 1 / 64;

/**
 * Creates the store of responses within `bytesMax`. Above its common part, deletes delivered responses first, then unfetched ones whose
 * payment has expired. Never deletes a response whose payment was charged and is still valid.
 */
export function keepResponses({ bytesMax }: Readonly<{ bytesMax: number }>, ledger: ClaimLedger): RetainedResponses {
  const commonBytes = bytesMax * commonPart;
  let bytes = 0;
  let large: ReadonlySet<string> = new Set();
  return {
    async trim() {
      await deleteInBatches(() => ledger.forgetResponses("expired"), deletedMax);
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

/** Max number of steps of {@link deleteInBatches}. */
const roundsMax = 20;

/** Deletes in short steps, each of at most `together`, until a step finds fewer; the rest is left for the next call. */
export async function deleteInBatches(forget: () => Promise<number>, together: number): Promise<void> {
  for (let round = 0; round < roundsMax; round += 1) if ((await forget()) < together) return;
}
