import type { ClaimLedger } from "./claim-ledger.ts";

/** Responses in the ledger: those that may be requested again, and those that were not taken yet. */
export type RetainedResponses = Readonly<{
  /** Forgets what nobody may request any more, and the oldest beyond the limit. */
  trim: () => Promise<void>;
  /** Whether another response may be kept: without room, nothing new is sold. */
  hasRoom: () => boolean;
}>;

/** Most responses that are forgotten with one statement. */
const forgottenTogether = 100;

/**
 * Creates the keeper of responses within `bytesMax`. Beyond it, delivered ones are forgotten first, then those that were never taken and whose
 * payment has expired; no response goes whose payment was charged and is still valid.
 */
export function keepResponses({ bytesMax }: Readonly<{ bytesMax: number }>, ledger: ClaimLedger): RetainedResponses {
  let bytes = 0;
  return {
    async trim() {
      await ledger.forgetResponses("expired");
      bytes = await ledger.responseBytes();
      for (const which of ["delivered", "untaken"] as const) {
        while (bytes > bytesMax && (await ledger.forgetResponses(which, forgottenTogether)) > 0)
          bytes = await ledger.responseBytes();
      }
    },
    hasRoom: () => bytes <= bytesMax,
  };
}
