import { KeyCounts } from "#daemon/key-locations.ts";
import { namePayment, type PaymentKey } from "#x402/payment-identifier.ts";

/** Payments that this process handles: the requests of each, and which of them a request owns. */
export type PaymentsInFlight = ReturnType<typeof createPaymentsInFlight>;

export function createPaymentsInFlight() {
  const requests = new KeyCounts();
  const owned = new Set<string>();
  return {
    /** Counts a request with a payment until it is disposed of: a buyer may send copies of one payment at the same time. */
    enter(key: PaymentKey): Disposable & Readonly<{ hasOthers: () => boolean }> {
      const name = namePayment(key);
      requests.increase(name);
      return { hasOthers: () => requests.get(name) > 1, [Symbol.dispose]: () => requests.decrease(name) };
    },
    /** Owns a payment until its release: all others leave its claim alone. Returns false if it is already owned. */
    acquire(key: PaymentKey): boolean {
      const name = namePayment(key);
      if (owned.has(name)) return false;
      owned.add(name);
      return true;
    },
    release: (key: PaymentKey) => void owned.delete(namePayment(key)),
    count: () => owned.size,
  };
}
