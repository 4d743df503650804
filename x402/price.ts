/** Decimals of the token in which prices are charged (specification, "Limits": token precision). */
export const tokenDecimals = 6;

/** Max supported decimals of a payment token; the highest number in use is 24. */
export const decimalsMax = 36;

/** Max length of a price, in characters; longer numbers are typos, because no token has such a supply. */
const digitsMax = 30;

const decimal = /^\$?(\d+)(?:\.(\d+))?$/;

export class PriceError extends Error {
  override readonly name = "PriceError";
  readonly code = "price_invalid";
}

/**
 * Converts a price in dollars to the token's smallest unit: round(price × 10^decimals), as a decimal integer string (specification,
 * "Money conversion rule", where a token has 6 decimals). Exact; half a unit rounds up. The number may have a leading `$`, as x402 clients write it.
 *
 * @throws {PriceError} when the text isn't such a number, or rounds to zero.
 */
export function convertPriceToAmount(price: string, decimals: number = tokenDecimals): string {
  const match = decimal.exec(price);
  if (match === null || price.length > digitsMax) {
    throw new PriceError(`"${price}" is not a price; expected dollars as a decimal number, e.g. "0.01".`);
  }
  const [, whole = "0", fraction = ""] = match;
  const kept = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  const roundsUp = (fraction[decimals] ?? "0") >= "5";
  const amount = roundsUp ? kept + 1n : kept;
  if (amount === 0n) {
    throw new PriceError(
      `"${price}" rounds to 0 smallest units of the token; the minimum price is ${decimals === 0 ? "1" : `0.${"1".padStart(decimals, "0")}`}.`,
    );
  }
  return amount.toString();
}
