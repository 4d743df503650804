import * as Value from "ox/Value";

const wholeNumber = /^\d{1,78}$/;
const decimal = /^\$?(\d{1,78}(?:\.(\d{1,36}))?)$/;

/** Double-quoted amount after shell expansion: `$0` is the shell's name, `$1` to `$9` are empty. */
const shellName = /^-?(?:[\w./-]*\/)?(?:ba|z|da|k|fi|tc|c|a)?sh(?:\.\d*|\d*)$/;
const afterEmptyVariable = /^(?:\.\d+)?$/;

/** A limit that is not an amount, or can't be compared with a token's units. */
export class TokenAmountError extends Error {
  override readonly name = "TokenAmountError";
  readonly code = "token_amount_invalid";
}

/** User-supplied amount: in the token's smallest units, or in whole tokens with `scale` digits after the point. */
export type TokenAmount = Readonly<{ kind: "units"; units: bigint } | { kind: "tokens"; text: string; scale: number }>;

/**
 * Parses an amount: `"0.05"` and `"$0.05"` are in whole tokens (dollars, for a dollar token), `"50000"` is in smallest units.
 *
 * @throws {TokenAmountError} when the text is neither, with specific advice if a shell has expanded `$0.05`.
 */
export function parseTokenAmount(text: string): TokenAmount {
  if (wholeNumber.test(text)) return { kind: "units", units: BigInt(text) };
  const [, tokens, fraction = ""] = decimal.exec(text) ?? [];
  if (tokens === undefined) throw new TokenAmountError(`"${text}" is not an amount; ${suggestAmountForm(text)}`);
  return { kind: "tokens", text: tokens, scale: fraction.length };
}

function suggestAmountForm(text: string): string {
  if (shellName.test(text) || afterEmptyVariable.test(text)) {
    return "a shell replaces $ and the digit after it. Write the amount without $ (0.05), or in single quotes ('$0.05').";
  }
  return "write it in whole tokens with a point (0.05), or in the token's smallest units (50000).";
}

/**
 * Converts an amount to the smallest units of a token with that many decimals.
 *
 * @throws {TokenAmountError} when the amount is in whole tokens and the token's decimals are unknown, or fewer than the amount has.
 */
export function toUnits(amount: TokenAmount, decimals: number | undefined): bigint {
  if (amount.kind === "units") return amount.units;
  if (decimals === undefined) {
    throw new TokenAmountError(`${amount.text} is in whole tokens, but the token's decimals are unknown.`);
  }
  if (amount.scale > decimals) {
    throw new TokenAmountError(
      `${amount.text} has ${amount.scale} digits after the point, but the token has ${decimals} decimals.`,
    );
  }
  return Value.from(amount.text, decimals);
}

/** Formats an amount in whole tokens: `10000n` with 6 decimals is `0.01`. Uses smallest units if the decimals are unknown. */
export function formatAmount(units: bigint, decimals: number | undefined): string {
  return decimals === undefined ? `${units} smallest units` : Value.format(units, decimals);
}
