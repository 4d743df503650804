import { ExactEvmScheme } from "@x402/evm/exact/server";
import type { AssetAmount, MoneyParser, Network, SchemeNetworkServer } from "@x402/core/types";
import { convertPriceToAmount } from "../price.ts";
import type { ChargedToken } from "../scheme.ts";

/**
 * Creates the money conversion of the specification: dollars to `amount`, `asset` and `extra` (`token`, `name`, `version`) on the token's
 * network, null on any other.
 */
export function createMoneyConversion(token: ChargedToken): (price: string, network: Network) => AssetAmount | null {
  return (price, network) =>
    network === token.network
      ? {
          amount: convertPriceToAmount(price, token.decimals),
          asset: token.address,
          extra: { token: token.name, name: token.name, version: token.version },
        }
      : null;
}

/** Creates the server side of the SDK's scheme `exact` with this conversion registered. */
export function createExactScheme(token: ChargedToken): SchemeNetworkServer {
  const convert: MoneyParser = async (price, network) => createMoneyConversion(token)(String(price), network);
  return new ExactEvmScheme().registerMoneyParser(convert);
}
