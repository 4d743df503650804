import type { PaymentRequirements } from "@x402/core/types";
import { exact } from "#x402/exact.ts";
import type { Scheme } from "#x402/scheme.ts";
import { exactScheme, type ChargedToken } from "./money-conversion.ts";

/** A scheme with what a seller does by it. */
export type SellingScheme = Readonly<{
  scheme: Scheme;
  /** What an offer asks for at a price in dollars. */
  quote(price: string, token: ChargedToken): Promise<Pick<PaymentRequirements, "amount" | "asset" | "extra">>;
}>;

/** The schemes that routes may be sold by. */
export const sellingSchemes: readonly SellingScheme[] = [
  {
    scheme: exact,
    async quote(price, token) {
      const { amount, asset, extra } = await exactScheme(token).parsePrice(price, token.network);
      return { amount, asset, extra: extra ?? {} };
    },
  },
];
