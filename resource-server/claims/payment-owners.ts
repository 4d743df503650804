import { namePayment } from "#x402/payment-name.ts";
import type { ClaimKey } from "./payment-claim.ts";

/**
 * Payments that this process works on or delivers. Whoever took one owns its claim until it is given back; everyone else
 * leaves the claim alone.
 */
export type PaymentOwners = Readonly<{
  /** False when somebody owns it already. */
  take(key: ClaimKey): boolean;
  giveBack(key: ClaimKey): void;
  count(): number;
}>;

/** Nobody owns anything at first. */
export function createPaymentOwners(): PaymentOwners {
  const owned = new Set<string>();
  return {
    take(key) {
      const name = namePayment(key);
      if (owned.has(name)) return false;
      owned.add(name);
      return true;
    },
    giveBack: (key) => void owned.delete(namePayment(key)),
    count: () => owned.size,
  };
}
