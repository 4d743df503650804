import { namePayment } from "#x402/scheme.ts";
import type { ClaimKey } from "./payment-claim.ts";

/**
 * Payments that this process works on or delivers. Who acquires one owns its claim until they release it;
 * everyone else leaves the claim alone.
 */
export type PaymentOwners = Readonly<{
  /** False when somebody owns it already. */
  acquire(key: ClaimKey): boolean;
  release(key: ClaimKey): void;
  count(): number;
}>;

/** Creates the owners; nobody owns anything at first. */
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
