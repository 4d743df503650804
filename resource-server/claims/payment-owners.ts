import { namePayment } from "#x402/payment-identifier.ts";
import type { ClaimKey } from "./payment-claim.ts";

/** Payments that this process works on or delivers. A caller that acquires one owns its claim until it releases it; all others leave the claim alone. */
export type PaymentOwners = Readonly<{
  /** Returns false if it is already owned. */
  acquire(key: ClaimKey): boolean;
  release(key: ClaimKey): void;
  count(): number;
}>;

/** Creates an empty set of owners. */
export function createPaymentOwners(): PaymentOwners {
  const owned = new Set<string>();
  return {
    acquire(key) {
      const name = namePayment(key);
      if (owned.has(name)) return false;
      owned.add(name);
      return true;
    },
    release: (key) => void owned.delete(namePayment(key)),
    count: () => owned.size,
  };
}
