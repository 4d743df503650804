import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

type Order = Readonly<{ url: string; key: `0x${string}`; asset: string }>;

/** Buys from within a page, like the published client; returns the data about offer and purchase that the page could read. */
async function buy({ url, key, asset }: Order) {
  const unpaidResponse = await fetch(url);
  const [offer] = decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "").accepts;
  const network = "eip155:1672";
  const client = new x402Client()
    .register(network, new ExactEvmScheme(privateKeyToAccount(key)))
    .setSpendControls({ allowedAssets: [{ network, asset, maxAmountPerPayment: "10000" }] });
  const paid = await wrapFetchWithPayment(fetch, client)(url);
  return {
    unpaid: { status: unpaidResponse.status, amount: offer?.amount },
    paid: {
      status: paid.status,
      body: (await paid.json()) as unknown,
      success: decodePaymentResponseHeader(paid.headers.get("PAYMENT-RESPONSE") ?? "").success,
    },
  };
}

Object.assign(globalThis, { buy });
