import { PaymentRefusedError } from "./payment-refused.ts";
import { formatDollars } from "./token-amount.ts";

/** What one paying fetch may still spend. */
export type SpendingBudget = Readonly<{
  /**
   * Takes an amount out of the budget before it is signed. It never comes back: a server could settle a signed payment until
   * it expires, whatever it answered.
   *
   * @throws {PaymentRefusedError} `over_total_cap` when less is left.
   */
  take(amount: bigint): void;
  /** Smallest token units taken so far. */
  spent(): bigint;
}>;

/** Makes a budget of `total` smallest token units. */
export function createSpendingBudget(total: bigint): SpendingBudget {
  let spent = 0n;
  return {
    take(amount) {
      if (spent + amount > total) {
        throw new PaymentRefusedError(
          "over_total_cap",
          `the payment of ${formatDollars(amount)} would bring the total to ${formatDollars(spent + amount)}, ` +
            `the cap is ${formatDollars(total)}; nothing was signed. Raise the total cap to go on.`,
        );
      }
      spent += amount;
    },
    spent: () => spent,
  };
}
