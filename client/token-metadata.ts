import type { PaymentRequired } from "@x402/core/types";
import { formatAmount, parseTokenAmount, TokenAmountError } from "#x402/token-amount.ts";
import { PaymentRejectedError, type AllowedAsset, type ChosenPayment } from "./payment-choice.ts";
import type { PaymentEvent } from "./payment-event.ts";
import { toPlainText } from "./plain-text.ts";
import { TokenReadError, type TokenLocation, type TokenReader } from "./token-reader.ts";

type Chain = Readonly<{ tokens: TokenReader; onEvent: (event: PaymentEvent) => void }>;

/** Returns the chain's response; on failure, reports it and returns undefined. */
async function tryRead<T>(read: () => Promise<T>, { onEvent }: Pick<Chain, "onEvent">): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof TokenReadError)) throw error;
    onEvent({ type: "chain-unread", reason: error.message });
    return undefined;
  }
}

/** Whole tokens can only be compared with prices in the smallest unit if the decimals are known. */
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
      `specify the asset's decimals, or the amount in its smallest unit.`,
  );
}

/**
 * Adds missing decimals to the allowed tokens. With a reader, reads them for tokens that the server offers.
 *
 * @throws {PaymentRejectedError} when the caller specified other decimals: its limits in whole tokens would be wrong by powers of ten.
 */
export async function withDecimals(
  assets: readonly AllowedAsset[],
  { accepts }: PaymentRequired,
  { tokens, onEvent }: Readonly<{ tokens: TokenReader | undefined }> & Pick<Chain, "onEvent">,
): Promise<readonly AllowedAsset[]> {
  if (tokens === undefined) return assets;
  const isOffered = ({ network, address }: AllowedAsset) =>
    accepts.some((offer) => offer.network === network && offer.asset.toLowerCase() === address.toLowerCase());
  return Promise.all(
    assets.map(async (asset) => {
      if (!isOffered(asset)) return asset;
      const decimals = await tryRead(() => tokens.decimals(asset), { onEvent });
      if (decimals === undefined) return asset;
      if (asset.decimals === undefined || asset.decimals === decimals) return { ...asset, decimals };
      throw new PaymentRejectedError(
        "no_allowed_offer",
        `token ${asset.address} on ${asset.network} has ${decimals} decimals, not ${asset.decimals}; nothing was signed. Correct its decimals, or leave them out.`,
      );
    }),
  );
}

export async function readSymbol(token: TokenLocation, { tokens, onEvent }: Chain): Promise<string | undefined> {
  const symbol = await tryRead(() => tokens.symbol(token), { onEvent });
  return symbol === undefined ? undefined : toPlainText(symbol);
}

/** If the chain does not respond, the payment is not blocked: the seller checks the balance too. */
export async function requireFunds(
  { offer, decimals }: ChosenPayment,
  account: string,
  { tokens, onEvent }: Chain,
): Promise<void> {
  const { network, asset: address } = offer;
  const balance = await tryRead(() => tokens.balanceOf({ network, address }, account), { onEvent });
  if (balance === undefined || balance >= BigInt(offer.amount)) return;
  throw new PaymentRejectedError(
    "insufficient_funds",
    `account ${account} has ${formatAmount(balance, decimals)} of token ${address} on ${network}, ` +
      `the price is ${formatAmount(BigInt(offer.amount), decimals)}; nothing was signed. Top it up, or pay with another key.`,
  );
}
