import type { PaymentRequired } from "@x402/core/types";
import type { AllowedAsset } from "./payment-choice.ts";
import type { PaymentEvent } from "./payment-event.ts";
import { parseTokenAmount, TokenAmountError } from "#x402/token-amount.ts";
import { TokenReadError, type TokenReader } from "./token-reader.ts";

/**
 * Verifies that the decimals of each token are known, so that amounts in whole tokens can be compared with prices in smallest units.
 *
 * @throws {TokenAmountError} listing the token whose decimals are neither given nor readable.
 */
export function requireDecimals(
  assets: readonly AllowedAsset[],
  amounts: readonly string[],
  tokens: TokenReader | undefined,
): void {
  const inTokens = amounts.find((amount) => parseTokenAmount(amount).kind === "tokens");
  const unknown = assets.find(({ decimals }) => decimals === undefined);
  if (inTokens === undefined || unknown === undefined || tokens !== undefined) return;
  throw new TokenAmountError(
    `${inTokens} is in whole tokens, but the decimals of ${unknown.address} on ${unknown.network} are unknown; ` +
      `specify the asset's decimals, or the amount in smallest units.`,
  );
}

/** Adds missing decimals to the allowed tokens. With a reader, reads them for tokens that the server offers. */
export async function withDecimals(
  assets: readonly AllowedAsset[],
  { accepts }: PaymentRequired,
  { tokens, onEvent }: Readonly<{ tokens: TokenReader | undefined; onEvent: (event: PaymentEvent) => void }>,
): Promise<readonly AllowedAsset[]> {
  if (tokens === undefined) return assets;
  const isOffered = ({ network, address }: AllowedAsset) =>
    accepts.some((offer) => offer.network === network && offer.asset.toLowerCase() === address.toLowerCase());
  return Promise.all(
    assets.map(async (asset) => {
      if (asset.decimals !== undefined || !isOffered(asset)) return asset;
      try {
        return { ...asset, decimals: await tokens.decimals(asset) };
      } catch (error) {
        if (!(error instanceof TokenReadError)) throw error;
        onEvent({ type: "chain-unread", reason: error.message });
        return asset;
      }
    }),
  );
}
