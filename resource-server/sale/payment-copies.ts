import { KeyCounts } from "#daemon/key-locations.ts";
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
  const requests = new KeyCounts();
  return {
    add(key) {
      const name = namePayment(key);
      requests.increase(name);
      return {
        hasOthers: () => requests.get(name) > 1,
        [Symbol.dispose]: () => requests.decrease(name),
      };
    },
  };
}
