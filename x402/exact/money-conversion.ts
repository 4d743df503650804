import { ExactEvmScheme } from "@x402/evm/exact/server";
import type { AssetAmount, MoneyParser, Network, SchemeNetworkServer } from "@x402/core/types";
import { convertPriceToAmount } from "../price.ts";
import type { ChargedToken } from "../scheme.ts";

/**
 * Converts money by the specification: dollars to `amount`, `asset` and `extra` (`token`, `name`, `version`) on the token's network, null on
 * every other.
 */
export function createMoneyConversion(token: ChargedToken): (price: string, network: Network) => AssetAmount | null {
  return (price, network) =>
    network === token.network
      ? {
          amount: convertPriceToAmount(price),
          asset: token.address,
          extra: { token: token.name, name: token.name, version: token.version },
        }
      : null;
}

/** The SDK's server side of scheme `exact` with the conversion registered on it. */
export function createExactScheme(token: ChargedToken): SchemeNetworkServer {
  const convert: MoneyParser = async (price, network) => createMoneyConversion(token)(String(price), network);
  return new ExactEvmScheme().registerMoneyParser(convert);
}
