import { type ChosenPayment, PaymentRefusedError } from "./payment-choice.ts";
import type { PaymentEvent } from "./payment-event.ts";
import { amountText } from "#x402/money.ts";
import { TokenReadError, type TokenReader } from "./token-reader.ts";

/**
 * Makes sure that the account holds the price, before anything is signed. A chain that does not tell stops no payment: the seller checks as
 * well.
 *
 * @throws {PaymentRefusedError} `insufficient_funds` with account, balance and need.
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
    `account ${account} holds ${amountText(balance, decimals)} of token ${offer.asset} on ${offer.network}, ` +
      `the price is ${amountText(BigInt(offer.amount), decimals)}; nothing was signed. Send it the missing tokens, or pay with another key.`,
  );
}
