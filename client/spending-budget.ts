import { parseUnits } from "viem";
import { formatAmount, type TokenAmount } from "#x402/token-amount.ts";
import { decimalsMax } from "#x402/price.ts";
import { PaymentRejectedError } from "./payment-choice.ts";

/** Amount that a payment takes from a budget, in the smallest unit of a token with this many decimals. */
export type Spending = Readonly<{ units: bigint; decimals: number | undefined }>;

export type SpendingBudget = ReturnType<typeof createSpendingBudget>;

/** Creates a budget of `total`: in whole tokens regardless of each token's decimals, or in the smallest unit regardless of the token. */
export function createSpendingBudget(total: TokenAmount) {
  const measure = (payment: Spending) => (total.kind === "units" ? payment.units : convertToSharedScale(payment));
  const limit = total.kind === "units" ? total.units : parseUnits(total.text, decimalsMax);
  const shown = (amount: bigint) => formatAmount(amount, total.kind === "units" ? undefined : decimalsMax);
  let spent = 0n;
  return {
    /** Deducted before signing and never refunded: the server can settle a signed payment until it expires. */
    spend(payment: Spending): void {
      const amount = measure(payment);
      if (spent + amount > limit) {
        throw new PaymentRejectedError(
          "over_total_cap",
          `the payment of ${shown(amount)} would bring the total to ${shown(spent + amount)}, ` +
            `the cap is ${shown(limit)}; nothing was signed. Raise the total cap to continue.`,
        );
      }
      spent += amount;
    },
    /** Returns how much of a token with this many decimals is left, in its smallest unit. */
    left: (decimals: number | undefined): bigint =>
      total.kind === "units" ? limit - spent : (limit - spent) / convertToSharedScale({ units: 1n, decimals }),
  };
}

/** All tokens share this scale of {@link decimalsMax} decimals. */
function convertToSharedScale({ units, decimals }: Spending): bigint {
  if (decimals === undefined) {
    const text = "the total cap is in whole tokens, but the token's decimals are unknown; nothing was signed.";
    throw new PaymentRejectedError("no_allowed_offer", text);
  }
  return units * 10n ** BigInt(decimalsMax - decimals);
}
