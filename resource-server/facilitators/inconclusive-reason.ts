/**
 * Reasons of x402 by which a facilitator tells of its own fault in the form of a verdict. They say nothing about the payment: asking
 * for another one would charge a client twice whose first is still under way.
 */
const inconclusive = new Set(["unexpected_verify_error", "unexpected_settle_error", "unexpected_error"]);

/** Whether a facilitator's reason leaves open what became, or would become, of the payment. */
export function isInconclusive(reason: string | undefined): boolean {
  return reason !== undefined && inconclusive.has(reason);
}
