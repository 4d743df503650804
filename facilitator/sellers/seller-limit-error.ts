/** A seller's own limit is reached. Nothing was done; the same call succeeds after a while. */
export class SellerLimitError extends Error {
  override readonly name = "SellerLimitError";
  readonly code = "seller_limit";
  /** Seconds until a retry makes sense. */
  readonly retrySeconds: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.retrySeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  }
}
