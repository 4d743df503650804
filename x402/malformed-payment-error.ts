/** A request that has not the shape of a payment: no verdict about a payment, but a mistake of whoever sent it. */
export class MalformedPaymentError extends Error {
  override readonly name = "MalformedPaymentError";
  readonly code = "payment_malformed";
  /** Where in the request, e.g. `paymentPayload.payload.authorization.value`. */
  readonly path: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
  }
}
