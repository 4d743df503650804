/** Why the client did not pay. Nothing was signed. */
export type RefusalCode =
  | "no_allowed_offer"
  | "over_payment_cap"
  | "over_total_cap"
  | "unsupported_version"
  | "insufficient_funds";

/** The offer is outside of what the caller allows, or of what the account holds; nothing was signed and nothing is owed. */
export class PaymentRefusedError extends Error {
  override readonly name = "PaymentRefusedError";
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}
