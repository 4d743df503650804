import { namePayment } from "#x402/payment-identifier.ts";
import type { ClaimKey } from "./payment-claim.ts";

/** Payments that this process works on or delivers. A caller that acquires one owns its claim until it releases it; all others leave the claim alone. */
export type PaymentOwners = Readonly<{
  /** Returns false if it is already owned. */
  acquire(key: ClaimKey): boolean;
  release(key: ClaimKey): void;
  count(): number;
  /** Counts a request with the payment until it is disposed of. */
  present(key: ClaimKey): PresentedCopy;
}>;

/** A request with a payment, of which the buyer may have sent copies. */
export type PresentedCopy = Disposable & Readonly<{ hasOthers: () => boolean }>;

/** Creates an empty set of owners. */
export function createPaymentOwners(): PaymentOwners {
  const owned = new Set<string>();
  const presented = new Map<string, number>();
  return {
    acquire(key) {
      const name = namePayment(key);
      if (owned.has(name)) return false;
      owned.add(name);
      return true;
    },
    release: (key) => void owned.delete(namePayment(key)),
    count: () => owned.size,
    present(key) {
      const name = namePayment(key);
      const count = () => presented.get(name) ?? 0;
      presented.set(name, count() + 1);
      return {
        hasOthers: () => count() > 1,
        [Symbol.dispose]: () => void (count() > 1 ? presented.set(name, count() - 1) : presented.delete(name)),
      };
    },
  };
}
