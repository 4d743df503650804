/** Digits after the point of the tokens that x402 prices are written in (specification, "Limits": token precision). */
const decimals = 6;

const units = /^\d+$/;
const dollars = /^\$(\d+)(?:\.(\d{1,6}))?$/;

/** An amount that is neither token units nor dollars. */
export class TokenAmountError extends Error {
  override readonly name = "TokenAmountError";
  readonly code = "token_amount_invalid";
}

/**
 * Reads an amount of a 6-decimal token: `"10000"` is 10000 of its smallest units, `"$0.01"` is the same in dollars.
 *
 * @throws {TokenAmountError} when the text is neither.
 */
export function parseTokenAmount(text: string): bigint {
  if (units.test(text)) return BigInt(text);
  const match = dollars.exec(text);
  if (match === null) {
    throw new TokenAmountError(
      `"${text}" is no amount; expected dollars with at most 6 decimals ("$0.01") or the token's smallest units ("10000").`,
    );
  }
  const [, whole = "0", fraction = ""] = match;
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** Writes units of a 6-decimal token as dollars: `10000n` is `"$0.01"`. */
export function formatDollars(amount: bigint): string {
  const text = amount.toString().padStart(decimals + 1, "0");
  const fraction = text.slice(-decimals).replace(/0+$/, "").padEnd(2, "0");
  return `$${text.slice(0, -decimals)}.${fraction}`;
}
