/**
 * A claim is not in the state, or not in the hands, that a move of it needs. Another process took it over because this one was cut
 * off from the ledger for too long. Nothing was changed; the same payment, sent again, gets what it is owed.
 */
export class ClaimMovedError extends Error {
  override readonly name = "ClaimMovedError";
  readonly code = "claim_moved";

  constructor(what: string) {
    super(`a payment claim can't become ${what}: it is not in the state before that, or no longer this process's.`);
  }
}
