import { deletedMax, type ClaimLedger } from "./claim-ledger.ts";

/** Max responses deleted with one statement, and max statements that delete at a time. */
const forgottenTogether = 100;
const roundsMax = 100;

/** Part of the limit that any payer may fill, and each payer's share of the rest: one that fetches nothing does not block others. */
const commonPart = 3 / 4;
const payerPart = 1 / 64;

export type RetainedResponses = ReturnType<typeof createRetainedResponses>;

/** Above the common part, deletes delivered responses, then unfetched ones of expired payments; never one charged and still valid. */
export function createRetainedResponses({ bytesMax }: Readonly<{ bytesMax: number }>, ledger: ClaimLedger) {
  const commonBytes = bytesMax * commonPart;
  let bytes = 0;
  let large: ReadonlySet<string> = new Set();
  return {
    /** Deletes responses that can no longer be requested, and the oldest ones above the limit. */
    async trim() {
      await deleteInRounds(() => ledger.forgetResponses("expired"));
      bytes = await ledger.responseBytes();
      for (const which of ["delivered", "untaken"] as const) {
        while (bytes > commonBytes && (await ledger.forgetResponses(which, forgottenTogether)) > 0)
          bytes = await ledger.responseBytes();
      }
      large = bytes > commonBytes ? await ledger.payersAbove(bytesMax * payerPart) : new Set();
    },
    /** Returns whether another response for this payer may be retained; if not, it can't buy anything new. */
    hasRoom: (payer: string) => bytes <= commonBytes || (bytes <= bytesMax && !large.has(payer)),
  };
}

/** Deletes in short statements until one finds fewer than its max; the rest is left for the next call. */
export async function deleteInRounds(forget: () => Promise<number>): Promise<void> {
  for (let round = 0; round < roundsMax; round += 1) if ((await forget()) < deletedMax) return;
}
