/**
 * A limit is reached: this caller's (429), or the global one (503). Nothing was done; a retry makes sense after
 * `retrySeconds`.
 */
export class OverloadError extends Error {
  override readonly name = "OverloadError";
  readonly code: "seller_limit" | "overloaded";
  readonly status: 429 | 503;
  readonly retrySeconds: number;

  constructor(status: 429 | 503, message: string, retrySeconds = 1) {
    super(message);
    this.status = status;
    this.code = status === 429 ? "seller_limit" : "overloaded";
    this.retrySeconds = retrySeconds;
  }
}
