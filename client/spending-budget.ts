import { parseUnits } from "viem";
import { formatAmount, type TokenAmount } from "#x402/token-amount.ts";
import { decimalsMax } from "#x402/price.ts";
import { PaymentRefusedError, type ChosenPayment } from "./payment-choice.ts";
import type { PaymentEvent } from "./payment-event.ts";
import { TokenReadError, type TokenReader } from "./token-reader.ts";

/** Amount that a payment takes from a budget, in smallest units of a token with these decimals. */
export type Spending = Readonly<{ units: bigint; decimals: number | undefined }>;

/** Remaining budget of a paying fetch. */
export type SpendingBudget = Readonly<{
  /**
   * Deducts a payment from the budget before it is signed. The amount is never refunded: whatever the server responded, it could settle a
   * signed payment until the payment expires.
   *
   * @throws {PaymentRefusedError} `over_total_cap` when the remaining budget is too small.
   */
  spend(payment: Spending): void;
  /** Returns how much of a token with these decimals is left, in its smallest units. */
  left(decimals: number | undefined): bigint;
}>;

/** Creates a budget of `total`: in whole tokens regardless of each token's decimals, or in smallest units regardless of the token. */
export function createSpendingBudget(total: TokenAmount): SpendingBudget {
  const measure = (payment: Spending) => (total.kind === "units" ? payment.units : convertToSharedScale(payment));
  const limit = total.kind === "units" ? total.units : parseUnits(total.text, decimalsMax);
  const shown = (amount: bigint) => formatAmount(amount, total.kind === "units" ? undefined : decimalsMax);
  let spent = 0n;
  return {
    spend(payment) {
      const amount = measure(payment);
      if (spent + amount > limit) {
        throw new PaymentRefusedError(
          "over_total_cap",
          `the payment of ${shown(amount)} would bring the total to ${shown(spent + amount)}, ` +
            `the cap is ${shown(limit)}; nothing was signed. Raise the total cap to continue.`,
        );
      }
      spent += amount;
    },
    left: (decimals) =>
      total.kind === "units" ? limit - spent : (limit - spent) / convertToSharedScale({ units: 1n, decimals }),
  };
}

/**
 * Converts an amount to the scale shared by all tokens, with {@link decimalsMax} decimals.
 *
 * @throws {PaymentRefusedError} `no_allowed_offer` if the token's decimals are unknown.
 */
function convertToSharedScale({ units, decimals }: Spending): bigint {
  if (decimals === undefined) {
    const text = "the total cap is in whole tokens, but the token's decimals are unknown; nothing was signed.";
    throw new PaymentRefusedError("no_allowed_offer", text);
  }
  return units * 10n ** BigInt(decimalsMax - decimals);
}

/**
 * Verifies, before signing, that the account can pay the price. If the chain does not respond, the payment is not blocked, because the
 * seller checks the balance too.
 *
 * @throws {PaymentRefusedError} `insufficient_funds` with account, balance and required amount.
 */
export async function requireFunds(
  { offer, decimals }: ChosenPayment,
  account: string,
  { tokens, onEvent }: Readonly<{ tokens: TokenReader; onEvent: (event: PaymentEvent) => void }>,
): Promise<void> {
  const token = { network: offer.network, address: offer.asset };
  let balance: bigint;
  try {
    balance = await tokens.balanceOf(token, account);
  } catch (error) {
    if (!(error instanceof TokenReadError)) throw error;
    return onEvent({ type: "chain-unread", reason: error.message });
  }
  if (balance >= BigInt(offer.amount)) return;
  throw new PaymentRefusedError(
    "insufficient_funds",
    `account ${account} has ${formatAmount(balance, decimals)} of token ${offer.asset} on ${offer.network}, ` +
      `the price is ${formatAmount(BigInt(offer.amount), decimals)}; nothing was signed. Top it up, or pay with another key.`,
  );
}
