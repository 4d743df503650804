import { namePayment } from "#x402/payment-identifier.ts";
import type { ClaimKey } from "../claims/payment-claim.ts";

/** Requests in flight by payment: a buyer may send copies of one payment at the same time. */
export type PaymentCopies = Readonly<{
  /** Counts a request with the payment until it is disposed of. */
  add(key: ClaimKey): PaymentCopy;
}>;

/** One request with a payment. */
type PaymentCopy = Disposable & Readonly<{ hasOthers: () => boolean }>;

/** Creates an empty count of the requests in flight. */
export function createPaymentCopies(): PaymentCopies {
  const requests = new Map<string, number>();
  return {
    add(key) {
      const name = namePayment(key);
      const count = () => requests.get(name) ?? 0;
      requests.set(name, count() + 1);
      return {
        hasOthers: () => count() > 1,
        [Symbol.dispose]: () => void (count() > 1 ? requests.set(name, count() - 1) : requests.delete(name)),
      };
    },
  };
}
